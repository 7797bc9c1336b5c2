import { codeOfStatus, type Failure, failureOf, rowOf } from "./codes.js";
import { isObject } from "./read-event.js";

/** The body of a request that was refused. */
export interface Envelope {
  status: "error";
  error: { code: string; message: string; [key: string]: unknown };
  request_id?: unknown;
}

/** Whether a JSON value is such a body, and no event. */
export function isEnvelope(value: unknown): value is Envelope & Record<string, unknown> {
  if (!isObject(value) || "type" in value || value.status !== "error" || !isObject(value.error)) return false;
  return typeof value.error.code === "string" && value.error.code !== "" && typeof value.error.message === "string";
}

/** What a refusal says; the status decides where its code is none of the protocol's. */
export function failureOfEnvelope(envelope: Envelope, status: number, retryAfterMs: number | null = null): Failure {
  const { code, message, retry, recoverable, retry_after_ms: given } = envelope.error;
  const byStatus = status >= 400 ? codeOfStatus(status) : "UPSTREAM_ERROR";
  const row = rowOf(code) ?? failureOf(byStatus);
  const again = typeof retry === "boolean" ? retry : recoverable;
  return {
    code: /^[A-Z][A-Z0-9_]{2,63}$/.test(code) ? code : byStatus,
    errorType: row.errorType,
    message: message || row.message,
    recoverable: typeof again === "boolean" ? again : row.recoverable,
    retryAfterMs: typeof given === "number" && given >= 0 ? given : retryAfterMs,
    reason: row.reason,
  };
}

const A_DAY = 86_400_000;

/** What `Retry-After` says in milliseconds: seconds, or a date; null for neither. */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const isSeconds = /^\d+(\.\d+)?$/.test(text);
  const wait = isSeconds
    ? Math.round(Number(text) * 1000)
    : /[A-Za-z]/.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), A_DAY);
}

/** What an answer means that is no stream: its envelope, else its status. */
export function failureOfAnswer(
  status: number,
  retryAfter: string | null,
  body: string,
): Failure & { requestId: string | null } {
  const wait = status === 429 || status === 503 ? parseRetryAfter(retryAfter, Date.now()) : null;
  let value: unknown = null;
  try {
    value = JSON.parse(body);
  } catch {
    // the status says enough
  }
  const requestId = isObject(value) && typeof value.request_id === "string" ? value.request_id : null;
  if (isEnvelope(value)) return { ...failureOfEnvelope(value, status, wait), requestId };
  return { ...failureOf(codeOfStatus(status), { retryAfterMs: wait }), requestId };
}
