import type { Code, ErrorType, FailureFields, FailureKind, Reason } from "../events/codes.js";

export type { FailureKind } from "../events/codes.js";

/** The fields of a `StreamRequestError`: a failure with the names of the wire, and facts of its request. */
export interface StreamRequestErrorInit extends FailureFields {
  kind: FailureKind;
  status?: number | null | undefined;
}

/**
 * A stream could not be opened, or not be read to its end. `message` is safe to show; the exception behind it is `cause`.
 *
 * | `kind`              | when                                                                |
 * |---------------------|---------------------------------------------------------------------|
 * | `connection_failed` | no answer                                                           |
 * | `request_rejected`  | a status other than 200, 201, 202, or a refusal in place of a stream |
 * | `request_timeout`   | a clock ran out: `reason` names it                                  |
 * | `stream_failed`     | the stream's own terminal error, a limit, or no stream at all       |
 * | `stream_truncated`  | the body ended or broke without `session_end`                       |
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
  /** The server's own account of the failure, if it runs with `debug`. */
  declare readonly details?: unknown;

  constructor({ message, cause, error_type, retry_after_ms, ...fields }: StreamRequestErrorInit) {
    super(message, { cause });
    const own = { name: "StreamRequestError", errorType: error_type, retryAfterMs: retry_after_ms ?? null };
    Object.assign(this, { requestId: null, status: null }, fields, own);
  }
}
