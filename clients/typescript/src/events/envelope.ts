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
export function failureOfEnvelope({ error }: Envelope, status: number, retry_after_ms?: number): Failure {
  const { code, message, retry = error.recoverable, retry_after_ms: given } = error;
  const byStatus = status >= 400 ? codeOfStatus(status) : "UPSTREAM_ERROR";
  const row = rowOf(code) ?? failureOf(byStatus);
  return {
    ...row,
    code: /^[A-Z][A-Z0-9_]{2,63}$/.test(code) ? code : byStatus,
    message: message || row.message,
    recoverable: typeof retry === "boolean" ? retry : row.recoverable,
    retry_after_ms: typeof given === "number" && given >= 0 ? given : retry_after_ms,
  };
}

const A_DAY = 86_400_000;

/** What `Retry-After` says in milliseconds: seconds, or a date; undefined for neither. */
function parseRetryAfter(value: string | null): number | undefined {
  const text = value?.trim() ?? "";
  const wait = /^\d+(\.\d+)?$/.test(text)
    ? Math.round(+text * 1000)
    : /[A-Za-z]/.test(text)
      ? Date.parse(text) - Date.now()
      : NaN;
  return wait >= 0 || wait < 0 ? Math.min(Math.max(0, wait), A_DAY) : undefined;
}

/** What an answer means that is no stream: its envelope, else its status. `requestId` is the envelope's. */
export function failureOfAnswer(
  status: number,
  retryAfter: string | null,
  body: string,
): { failure: Failure; requestId: string | null } {
  const wait = status === 429 || status === 503 ? parseRetryAfter(retryAfter) : undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // the status says enough
  }
  const requestId = isObject(value) && typeof value.request_id === "string" ? value.request_id : null;
  const failure = isEnvelope(value)
    ? failureOfEnvelope(value, status, wait)
    : failureOf(codeOfStatus(status), { retry_after_ms: wait });
  return { failure, requestId };
}
