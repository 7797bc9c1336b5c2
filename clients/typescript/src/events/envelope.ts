import { codeOfStatus, type FailureFields, failureFields, isCode, typedOr } from "./codes.js";
import { isObject } from "./read-event.js";
import { parseRetryAfter } from "./retry-after.js";

/** The body of a refused request. */
export interface Envelope {
  status: "error";
  error: { code: string; message: string; [key: string]: unknown };
  request_id?: unknown;
}

/** Whether a JSON value is such a body, and no event. */
export function isEnvelope(value: unknown): value is Envelope & Record<string, unknown> {
  if (!isObject(value) || "type" in value || value.status !== "error" || !isObject(value.error)) return false;
  const { code, message } = value.error;
  return typeof code === "string" && code !== "" && typeof message === "string";
}

/** The failure that a refusal describes; `status` decides where the protocol does not know its code. */
export function fieldsOfEnvelope(
  { error, request_id }: Envelope,
  status: number,
  retry_after_ms?: number | undefined,
): FailureFields {
  const { code, message, retry = error.recoverable, retry_after_ms: given } = error;
  const byStatus = status >= 400 ? codeOfStatus(status) : "UPSTREAM_ERROR";
  const row = failureFields(code, byStatus);
  return {
    ...row,
    code: isCode(code) ? code : byStatus,
    message: message || row.message,
    recoverable: typedOr(retry, row.recoverable),
    retry_after_ms: typeof given === "number" && given >= 0 ? given : retry_after_ms,
    requestId: typeof request_id === "string" ? request_id : undefined,
  };
}

/** The failure of an answer that is no stream: by its envelope, else by its status. */
export function fieldsOfAnswer(status: number, retryAfter: string | null, body: string): FailureFields {
  const retry_after_ms = status === 429 || status === 503 ? parseRetryAfter(retryAfter) : undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // the status decides
  }
  if (isEnvelope(value)) return fieldsOfEnvelope(value, status, retry_after_ms);
  return { ...failureFields(codeOfStatus(status)), retry_after_ms };
}
