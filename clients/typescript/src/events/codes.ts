import type { ErrorCode } from "../protocol.js";
import type { DataOf } from "./event-types.js";

/** A code of the protocol, or one of another system. */
export type Code = ErrorCode | (string & {});

/** Whose fault a failure is. */
export type ErrorType = DataOf<"error">["error_type"];

/** Why a stream ended. */
export type Reason = DataOf<"session_end">["reason"];

interface Row {
  error_type: ErrorType;
  recoverable: boolean;
  reason: Reason;
  message: string;
}

/**
 * The protocol's codes: error_type, reason and the fixed message. "!" at the end: trying again may help, and the message
 * ends with that advice; "?": the same, and the message has it already. Codes without a message are a server's to say,
 * which sends it along.
 */
const TABLE = `
UPSTREAM_UNREACHABLE system upstream_unreachable The service could not be reached.!
UPSTREAM_TIMEOUT timeout upstream_error The service took too long to answer.!
UPSTREAM_TRUNCATED system truncated The answer broke off before it was complete.!
UPSTREAM_INVALID_RESPONSE system malformed The service sent an answer that could not be understood.
UPSTREAM_ERROR execution upstream_error The service reported an error.!
UPSTREAM_REJECTED validation upstream_error The service did not accept the request.
RATE_LIMITED execution upstream_error Too many requests. Please wait and try again.?
AUTH_FAILED system upstream_error The service refused the credentials it was given.
NOT_FOUND validation upstream_error The service does not know this address.
STREAM_LIMIT_EXCEEDED system limit The answer was larger than is allowed here.
INTERNAL system internal An internal error occurred.!
MODEL_NOT_FOUND execution upstream_error
CONTEXT_LENGTH_EXCEEDED validation upstream_error
CONTENT_FILTERED execution upstream_error
QUOTA_EXCEEDED execution upstream_error
CANCELLED execution cancelled !
GATEWAY_DRAINING system draining !
RUN_LOST system lost !
STORE_UNAVAILABLE system lost !
`;

let rows: Map<string, Row> | null = null;

function rowFrom(line: string): [string, Row] {
  const [, code, error_type, reason, text, mark] = /^(\S+) (\S+) (\S+) ?(.*?)([!?]?)$/.exec(
    line,
  ) as unknown as string[];
  const message = (text || "The service reported an error.") + (mark === "!" ? " Please try again." : "");
  return [code, { error_type, recoverable: mark !== "", reason, message }] as [string, Row];
}

/** What a code means; undefined for a code of another system. */
export function rowOf(code: string): Row | undefined {
  rows ??= new Map(TABLE.trim().split("\n").map(rowFrom));
  return rows.get(code);
}

/** A failure, classified, in the words of the wire: what a page may know of it. */
export interface Failure extends Row {
  code: Code;
  retry_after_ms?: number | undefined;
  details?: unknown;
}

/** The failure that one of the protocol's own codes names. */
export const failureOf = (code: ErrorCode, changes: Partial<Failure> = {}): Failure => ({
  code,
  ...((rowOf(code) ?? rowOf("UPSTREAM_ERROR")) as Row),
  ...changes,
});

/** The code that an HTTP status means where the body says no better. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "AUTH_FAILED";
  if (status === 404) return "NOT_FOUND";
  if (status === 408 || status === 504) return "UPSTREAM_TIMEOUT";
  if (status === 429) return "RATE_LIMITED";
  if (status >= 400 && status <= 499) return "UPSTREAM_REJECTED";
  if (status >= 500 && status <= 599) return "UPSTREAM_ERROR";
  return "UPSTREAM_INVALID_RESPONSE";
}
