// Shapes of the API's `config` and `dialects`: docs/console-api.md.

export interface ConfigValue {
  readonly path: string;
  readonly value: unknown;
  /** `config.yaml:12`, or `default`. */
  readonly origin: string;
}

export interface Upstream {
  readonly name: string;
  readonly url: string | null;
  readonly breaker: "closed" | "half_open" | "open" | null;
  /** How many streams it has now. */
  readonly open: number;
  readonly max_streams: number | null;
  /** In a row, up to now. */
  readonly failures: number;
  readonly last_error: string | null;
}

export interface Configuration {
  readonly file: string | null;
  readonly running_hash: string | null;
  readonly file_hash: string | null;
  /** Unix milliseconds. */
  readonly loaded: number;
  readonly reload_error?: { readonly at: number; readonly problems: readonly string[] };
  readonly values: readonly ConfigValue[];
  readonly upstreams: readonly Upstream[];
}

export interface Losses {
  readonly names: readonly string[];
  readonly cells: readonly { readonly from: string; readonly to: string; readonly lost: readonly string[] }[];
}
