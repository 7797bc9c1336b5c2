import type { ErrorCode } from "../protocol.js";
import type { DataOf } from "./event-types.js";

/** A code of the protocol, or one of another system. */
export type Code = ErrorCode | (string & {});

/** The cause of a failure, as the wire classifies it. */
export type ErrorType = DataOf<"error">["error_type"];

/** Why a stream ended. */
export type Reason = DataOf<"session_end">["reason"];

/** The kind of a failed request: see `StreamRequestError`. */
export type FailureKind =
  | "connection_failed"
  | "request_rejected"
  | "request_timeout"
  | "stream_failed"
  | "stream_truncated";

/** A classified failure with the names of the wire. `message` is safe to show. */
export interface FailureFields {
  code: Code;
  error_type: ErrorType;
  reason: Reason;
  recoverable: boolean;
  message: string;
  retry_after_ms?: number | undefined;
  details?: unknown;
  /** The request id that a refusal names. */
  requestId?: string | null | undefined;
  /** The exception behind it. It is never shown, and never part of an event. */
  cause?: unknown;
}

/** The message of a code, its error type (`execution`) and its reason (`upstream_error`). */
type Row = readonly [message: string, error_type?: ErrorType, reason?: Reason];

const ERROR = "The service reported an error. Please try again.";
/** The message of codes that only a server reports, which sends one of its own. */
const REPORTED = "The service reported an error.";

/** The codes that backends without a gateway report (protocol 1.1, section 5). */
const UPSTREAM: Readonly<Record<string, Row>> = {
  __proto__: null as never,
  UPSTREAM_ERROR: [ERROR],
  UPSTREAM_TIMEOUT: ["The service took too long to answer. Please try again.", "timeout"],
  RATE_LIMITED: ["Too many requests. Please wait and try again."],
  AUTH_FAILED: ["The service refused the credentials it was given.", "system"],
};

/** The protocol's other codes. */
const OTHERS: Readonly<Record<string, Row>> = {
  __proto__: null as never,
  UPSTREAM_UNREACHABLE: ["The service could not be reached. Please try again.", "system", "upstream_unreachable"],
  UPSTREAM_TRUNCATED: ["The answer broke off before it was complete. Please try again.", "system", "truncated"],
  UPSTREAM_INVALID_RESPONSE: ["The service sent an answer that could not be understood.", "system", "malformed"],
  UPSTREAM_REJECTED: ["The service did not accept the request.", "validation"],
  NOT_FOUND: ["The service does not know this address.", "validation"],
  MODEL_NOT_FOUND: [REPORTED],
  CONTENT_FILTERED: [REPORTED],
  QUOTA_EXCEEDED: [REPORTED],
  CONTEXT_LENGTH_EXCEEDED: [REPORTED, "validation"],
  STREAM_LIMIT_EXCEEDED: ["The answer was larger than is allowed here.", "system", "limit"],
  CANCELLED: ["The run was stopped on request.", "execution", "cancelled"],
  GATEWAY_DRAINING: [ERROR, "system", "draining"],
  RUN_LOST: [ERROR, "system", "lost"],
  STORE_UNAVAILABLE: [ERROR, "system", "lost"],
  INTERNAL: ["An internal error occurred. Please try again.", "system", "internal"],
};

/** A failure may be tried again if its message says so, or that somebody stopped the run. */
const fieldsOfRow = (
  code: string,
  [message, error_type = "execution", reason = "upstream_error"]: Row = [ERROR],
): FailureFields => ({ code, error_type, reason, recoverable: /again|stopped/.test(message), message });

/** Whether `code` may be shown as a machine's error code. */
export const isCode = (code: unknown): code is string =>
  typeof code === "string" && /^[A-Z][A-Z0-9_]{2,63}$/.test(code);

/** The failure that `code` names. A code that the protocol does not know has the row of `otherwise`. */
export const failureFields = (code: string, otherwise = ""): FailureFields =>
  fieldsOfRow(code, UPSTREAM[code] ?? OTHERS[code] ?? UPSTREAM[otherwise] ?? OTHERS[otherwise]);

/** The failure that `code` names where there is no gateway: as above, without the codes that only one reports. */
export const upstreamFailure = (code: string): FailureFields => fieldsOfRow(code, UPSTREAM[code]);

/** A failure of one request. It is thrown within the package; a page gets a `StreamRequestError` in its place. */
export class Failure implements FailureFields {
  declare readonly kind: FailureKind;
  declare readonly code: Code;
  declare readonly error_type: ErrorType;
  declare readonly reason: Reason;
  declare readonly recoverable: boolean;
  declare readonly message: string;
  declare readonly retry_after_ms?: number | undefined;
  declare readonly requestId?: string | null | undefined;

  constructor(kind: FailureKind, fields: FailureFields) {
    Object.assign(this, fields, { kind });
  }
}

/** The failure of a kind, with the protocol's row of `code`. */
export const failure = (kind: FailureKind, code: ErrorCode, changes: Partial<FailureFields> = {}): Failure =>
  new Failure(kind, { ...failureFields(code), ...changes });

/** `value` if it has the type of `otherwise`, else `otherwise`. */
export const typedOr = <T>(value: unknown, otherwise: T): T =>
  typeof value === typeof otherwise ? (value as T) : otherwise;

const STATUS_CODES: Readonly<Record<number, ErrorCode>> = {
  401: "AUTH_FAILED",
  403: "AUTH_FAILED",
  404: "NOT_FOUND",
  408: "UPSTREAM_TIMEOUT",
  429: "RATE_LIMITED",
  504: "UPSTREAM_TIMEOUT",
};

/** The code of an HTTP status whose body names no better one. */
export function codeOfStatus(status: number): ErrorCode {
  if (status < 400 || status > 599) return "UPSTREAM_INVALID_RESPONSE";
  return STATUS_CODES[status] ?? (status < 500 ? "UPSTREAM_REJECTED" : "UPSTREAM_ERROR");
}
