import type { Code, ErrorType, Failure, Reason } from "../events/codes.js";

/** What kind of failure it is: see `StreamRequestError`. */
export type FailureKind =
  | "connection_failed"
  | "request_rejected"
  | "request_timeout"
  | "stream_failed"
  | "stream_truncated";

/** What a `StreamRequestError` is made of: a failure in the words of the wire, and what is known of the request. */
export interface StreamRequestErrorInit extends Failure {
  kind: FailureKind;
  requestId?: string | null | undefined;
  status?: number | null | undefined;
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
  declare readonly kind: FailureKind;
  declare readonly code: Code;
  declare readonly errorType: ErrorType;
  /** Whether trying again may help. */
  declare readonly recoverable: boolean;
  /** After how many milliseconds trying again may help. */
  declare readonly retryAfterMs: number | null;
  declare readonly reason: Reason;
  declare readonly requestId: string | null;
  /** The HTTP status; null where there was no answer. */
  declare readonly status: number | null;
  /** What the server says of it beside the message, where it runs with `debug`. */
  declare readonly details?: unknown;

  constructor({ message, cause, error_type, retry_after_ms, ...fields }: StreamRequestErrorInit) {
    super(message, { cause });
    const own = { name: "StreamRequestError", errorType: error_type, retryAfterMs: retry_after_ms ?? null };
    Object.assign(this, { requestId: null, status: null }, own, fields);
  }
}
