// Shapes of the API's answers: docs/console-api.md.

export const STATES = ["waiting", "streaming", "detached", "ended", "refused"] as const;
export type State = (typeof STATES)[number];

/** The words of `session_end.reason`. */
export const REASONS = [
  "done",
  "interaction",
  "upstream_error",
  "upstream_unreachable",
  "truncated",
  "connect_timeout",
  "first_event_timeout",
  "idle_timeout",
  "total_timeout",
  "malformed",
  "limit",
  "cancelled",
  "client_gone",
  "slow_client",
  "draining",
  "lost",
  "internal",
] as const;

export interface Row {
  readonly id: string;
  readonly seq: number;
  readonly request_id: string;
  readonly trace_id: string | null;
  readonly worker: number;
  readonly endpoint: string | null;
  readonly upstream: string | null;
  readonly speaks: string | null;
  readonly answers: string | null;
  readonly framing: string | null;
  readonly key: string | null;
  readonly state: State;
  /** Unix milliseconds. */
  readonly began: number;
  readonly duration_ms: number | null;
  readonly first_event_ms: number | null;
  readonly max_gap_ms: number | null;
  readonly events: number | null;
  readonly bytes_in: number | null;
  readonly bytes_out: number | null;
  readonly attempts: number | null;
  readonly warnings: number | null;
  readonly repairs: number | null;
  readonly malformed: number | null;
  readonly lost: number | null;
  readonly status: number | null;
  readonly reason: string | null;
  readonly code: string | null;
  readonly hint: string | null;
  readonly thread_id: string | null;
  readonly session_id: string | null;
  readonly capture: "none" | "metadata" | "content";
  readonly shadow?: string | null;
}

export interface Attempt {
  readonly attempt: number;
  readonly upstream: string;
  readonly url: string | null;
  readonly ended: string | null;
  readonly code: string | null;
  readonly status: number | null;
  readonly began_ms: number;
  readonly first_event_ms: number | null;
}

export interface StreamDetails extends Omit<Row, "attempts"> {
  readonly attempts: readonly Attempt[];
}

export interface RowPage {
  readonly streams: Row[];
  readonly total: number;
  readonly seq: number;
}

/** The smallest request in one protocol. */
export interface Sample {
  readonly body: unknown;
  /** The keys and indices that lead to the user's message. */
  readonly place: readonly (string | number)[];
}

export interface Endpoint {
  readonly path: string;
  readonly methods: readonly string[];
  readonly answers: readonly string[];
  readonly framing: string | null;
  readonly upstreams: readonly string[];
  readonly demo: boolean;
  readonly needs_key: boolean;
  /** By protocol; none for an endpoint with `relay: all`. */
  readonly samples: Readonly<Record<string, Sample>>;
}

export interface Info {
  readonly version: string;
  /** The gateway's own address: `http://127.0.0.1:8080`. */
  readonly gateway: string;
  readonly api: number;
  /** Unix milliseconds. */
  readonly started: number;
  readonly workers: number;
  readonly capture: "metadata" | "content";
  readonly keep: { readonly streams: number; readonly stream_bytes: number; readonly total_bytes: number };
  readonly auth: boolean;
  readonly endpoints: readonly Endpoint[];
}

type Numbers = (number | null)[];

export interface Plots {
  /** Unix seconds. */
  readonly t: number[];
  readonly open: Numbers;
  readonly started: Numbers;
  readonly first_event: { readonly p50: Numbers; readonly p90: Numbers; readonly p99: Numbers };
  readonly gap: { readonly p50: Numbers; readonly p99: Numbers };
  readonly reasons: Readonly<Record<string, Numbers>>;
}

/** Reasons of streams that ended well, or because their client wanted it. */
const GOOD = new Set(["done", "interaction", "cancelled", "client_gone"]);

/** Whether a request did not get what it asked for. */
export function hasFailed(row: Pick<Row, "state" | "reason">): boolean {
  return row.state === "refused" || (row.state === "ended" && !GOOD.has(row.reason ?? ""));
}

export function isRunning(row: Pick<Row, "state">): boolean {
  return row.state !== "ended" && row.state !== "refused";
}
