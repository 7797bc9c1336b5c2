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
 * The protocol's codes: kind, reason, "!" where trying again may help, and the fixed message; of several codes in one
 * line, which only a server says, it sends the message along.
 */
const TABLE = `system upstream_unreachable ! UPSTREAM_UNREACHABLE The service could not be reached.
timeout upstream_error ! UPSTREAM_TIMEOUT The service took too long to answer.
system truncated ! UPSTREAM_TRUNCATED The answer broke off before it was complete.
system malformed - UPSTREAM_INVALID_RESPONSE The service sent an answer that could not be understood.
execution upstream_error ! UPSTREAM_ERROR The service reported an error.
validation upstream_error - UPSTREAM_REJECTED The service did not accept the request.
execution upstream_error ! RATE_LIMITED Too many requests. Please wait and try again.
system upstream_error - AUTH_FAILED The service refused the credentials it was given.
validation upstream_error - NOT_FOUND The service does not know this address.
system limit - STREAM_LIMIT_EXCEEDED The answer was larger than is allowed here.
system internal ! INTERNAL An internal error occurred.
execution upstream_error - MODEL_NOT_FOUND CONTENT_FILTERED QUOTA_EXCEEDED
validation upstream_error - CONTEXT_LENGTH_EXCEEDED
execution cancelled ! CANCELLED
system draining ! GATEWAY_DRAINING
system lost ! RUN_LOST STORE_UNAVAILABLE`;

const AGAIN = " Please try again.";
let rows: Map<string, Row> | null = null;

function rowsOf(line: string): [string, Row][] {
  const [, error_type, reason, mark, codes, text] = /^(\S+) (\S+) (\S) ([A-Z_ ]+?)(?: ([A-Z][a-z].*))?$/.exec(
    line,
  ) as unknown as string[];
  const recoverable = mark === "!";
  const advice = recoverable && !/again/.test(text ?? "") ? AGAIN : "";
  const row = { error_type, reason, recoverable, message: (text ?? "The service reported an error.") + advice } as Row;
  return (codes as string).split(" ").map((code) => [code, row]);
}

/** What a code means; undefined for a code of another system. */
export function rowOf(code: string): Row | undefined {
  rows ??= new Map(TABLE.split("\n").flatMap(rowsOf));
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
