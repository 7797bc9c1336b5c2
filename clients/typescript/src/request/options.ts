import type { EventReaderOptions } from "../events/event-reader.js";
import type { DataOf } from "../events/event-types.js";
import type { StreamRequestError } from "./errors.js";
import type { FetchOptions, HeadersSource } from "./http.js";
import type { ResumeOptions } from "./pause.js";

/** How long is waited, in milliseconds; null for as long as it takes. No clock runs while the page works. */
export interface Timeouts {
  /** For the first event: heartbeats do not count. 90 s if absent. */
  firstEvent?: number | null | undefined;
  /** Between two pieces of the body: heartbeats count. 120 s if absent. */
  idle?: number | null | undefined;
  /** For all of it. No limit if absent. */
  total?: number | null | undefined;
}

/** How a stream is read, wherever its body comes from. */
export interface ParseOptions extends EventReaderOptions {
  /** Ends the stream: the iteration rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  timeouts?: Timeouts | undefined;
  /** False: nothing but an abort is thrown; each failure arrives as `error` and `session_end`. */
  throwErrors?: boolean | undefined;
  /** Called with the data of each warning, which also arrives as an event. */
  onWarning?: ((data: DataOf<"warning">) => void) | undefined;
}

/** Reported before each try to resume a stream. */
export interface Reconnect {
  /** The number of the try since the last event: 1, 2 ... */
  attempt: number;
  /** How long is waited before it. */
  delayMs: number;
  /** Why the stream broke. */
  error: StreamRequestError;
}

/** How a stream is asked for. */
export interface StreamRequestOptions extends ParseOptions {
  /** `POST` if absent. */
  method?: string | undefined;
  /** Strings, FormData, URLSearchParams, Blob and bytes go out as they are, all else as JSON. */
  body?: unknown;
  /** Win over those of this package. A function is asked for each request. */
  headers?: HeadersSource | undefined;
  /** The protocol that is asked for: `X-Streamweir-Protocol`. */
  protocol?: string | undefined;
  /** A new one if absent; null: the request has no id. */
  requestId?: string | null | undefined;
  /**
   * Absent: an answer that names its run is gone on with after a break. False: never. True or options: a request
   * other than GET also carries a handle that this package has made, and is sent again if it got lost before any answer.
   */
  resume?: boolean | ResumeOptions | undefined;
  /** The last event that is here already, where a run is read from a place. */
  lastEventId?: string | undefined;
  /** Called before each try to go on. */
  onReconnect?: ((reconnect: Reconnect) => void) | undefined;
  /** Called when the headers of the first answer are here. */
  onResponse?: ((response: Response) => void) | undefined;
  /** Called in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Handed to `fetch` as they are: `credentials`, `mode`, `cache` ... */
  fetchOptions?: FetchOptions | undefined;
}
