import type { Code, ErrorType, Failure, Reason } from "../events/codes.js";

/** What kind of failure it is: see `StreamRequestError`. */
export type FailureKind =
  | "connection_failed"
  | "request_rejected"
  | "request_timeout"
  | "stream_failed"
  | "stream_truncated";

/** What a `StreamRequestError` is made of. */
export interface StreamRequestErrorInit extends Failure {
  kind: FailureKind;
  requestId?: string | null;
  status?: number | null;
  cause?: unknown;
}

/**
 * A stream could not be had, or not to its end. `message` is safe to show; what an exception says is in `cause`.
 *
 * | `kind`              | when                                                              |
 * |---------------------|-------------------------------------------------------------------|
 * | `connection_failed` | no answer                                                         |
 * | `request_rejected`  | a status other than 200, 201, 202, or a refusal in place of a stream |
 * | `request_timeout`   | a clock ran out: `reason` says which                              |
 * | `stream_failed`     | the stream's own terminal error, a limit, or no stream at all     |
 * | `stream_truncated`  | the body ended or broke without `session_end`                     |
 */
export class StreamRequestError extends Error {
  override readonly name = "StreamRequestError";
  readonly kind: FailureKind;
  readonly code: Code;
  readonly errorType: ErrorType;
  /** Whether trying again may help. */
  readonly recoverable: boolean;
  /** After how many milliseconds trying again may help. */
  readonly retryAfterMs: number | null;
  readonly reason: Reason;
  readonly requestId: string | null;
  /** The HTTP status; null where there was no answer. */
  readonly status: number | null;
  /** What the server says of it beside the message, where it runs with `debug`. */
  readonly details?: unknown;

  constructor(init: StreamRequestErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.kind = init.kind;
    this.code = init.code;
    this.errorType = init.errorType;
    this.recoverable = init.recoverable;
    this.retryAfterMs = init.retryAfterMs;
    this.reason = init.reason;
    this.requestId = init.requestId ?? null;
    this.status = init.status ?? null;
    if (init.details !== undefined) this.details = init.details;
  }
}
