import { failureFields, isCode, isKnownCode } from "../events/codes.js";
import { isObject } from "../events/read-event.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";

export type Fields = Record<string, unknown>;

export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);

/** The first of `names` that holds anything. */
export const first = (fields: Fields, ...names: string[]): unknown =>
  names
    .map((name) => (Object.hasOwn(fields, name) ? fields[name] : undefined))
    .find((value) => value != null && value !== "");

export const without = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !names.includes(name) && value != null));

/** The fields of an object that are neither null nor empty text. */
export const present = <T extends Fields>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null && value !== "")) as T;

/** A call's arguments as an object: also from JSON text; any other value is kept under `_raw`. */
export function argumentsOf(value: unknown): Fields {
  if (isObject(value)) return value;
  if (value === undefined || value === null || value === "") return {};
  if (typeof value !== "string") return { _raw: value };
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? parsed : { _raw: value };
  } catch {
    return { _raw: value };
  }
}

export const IDS = ["session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "node_name"];
const FIRST_MILLISECOND = 100_000_000_000;

const idIn = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

/** The ids that the fields hold, the time in milliseconds, and how long it took. */
export function metadataOf(fields: Fields): EventMetadata {
  const { timestamp, duration_ms, request_id, sequence } = fields;
  const isTime = typeof timestamp === "number" && timestamp > 0;
  return present({
    request_id: typeof request_id === "string" ? request_id : undefined,
    timestamp: isTime ? Math.round(timestamp < FIRST_MILLISECOND ? timestamp * 1000 : timestamp) : undefined,
    sequence: typeof sequence === "number" ? sequence : undefined,
    ...idsOf(fields),
    duration_ms: typeof duration_ms === "number" ? Math.round(duration_ms) : undefined,
  }) as EventMetadata;
}

/** The ids that the fields hold, alone. */
export const idsOf = (fields: Fields): EventMetadata =>
  present(Object.fromEntries(IDS.map((name) => [name, idIn(fields[name])])));

export const event = <T extends StreamEvent["type"]>(type: T, data: Fields, metadata: EventMetadata): StreamEvent =>
  ({ type, data, metadata }) as unknown as StreamEvent;

/** Whether a field reports a failure: by its name, unless its value denies it. */
const isFailing = (name: string, value: unknown): boolean =>
  /error|exception|fail|stack/i.test(name) &&
  !/warn/i.test(name) &&
  Boolean(value) &&
  !(typeof value === "string" && /^(ok|no|none|null|false)$/i.test(value));

/** A value without the texts beside a failure, and within it: they may be those of exceptions. Codes are kept. */
function withoutFailures(value: unknown, isFailure = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutFailures(item, isFailure));
  if (typeof value === "string") return isFailure && value && !isCode(value) ? "[withheld]" : value;
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const hasFailed = isFailure || entries.some(([name, item]) => isFailing(name, item));
  return Object.fromEntries(
    entries.map(([name, item]) => [name, withoutFailures(item, hasFailed && !/(^|_)id$/.test(name))]),
  );
}

/** An event of an app's own. Texts of failures within it are withheld. */
export const custom = (name: string, value: unknown, metadata: EventMetadata): StreamEvent =>
  event("data", { data_type: "custom", data: { name: name || "custom", value: withoutFailures(value) } }, metadata);

const REASONS: Record<string, string> = {
  completed: "done",
  suspended: "interaction",
  cancelled: "cancelled",
  error: "upstream_error",
};

export function sessionEnd(status: string, metadata: EventMetadata, summary: Fields = {}): StreamEvent {
  const hasSummary = Object.keys(summary).length > 0;
  return event("session_end", { status, ...(hasSummary ? { summary } : {}), reason: REASONS[status] }, metadata);
}

/** An error whose text may be an exception's: its code decides what is shown. */
export function hiddenError(code: unknown, terminal: boolean, metadata: EventMetadata, retry?: unknown): StreamEvent {
  const failure = failureFields(isKnownCode(code) ? (code as string) : "UPSTREAM_ERROR");
  return event(
    "error",
    {
      error_type: failure.error_type,
      code: isCode(code) ? code : failure.code,
      message: failure.message,
      recoverable: typeof retry === "boolean" ? retry : failure.recoverable,
      terminal,
    },
    metadata,
  );
}

export const toolEnd = (
  fields: { tool_id: string; failed: boolean; result: unknown; code?: unknown },
  metadata: EventMetadata,
): StreamEvent =>
  event(
    "tool_call_end",
    {
      tool_id: fields.tool_id,
      status: fields.failed ? "failed" : "success",
      ...(fields.result == null ? {} : { result: fields.result }),
      ...(fields.failed ? { error: { code: textOf(fields.code) || "TOOL_FAILED", message: "The tool failed." } } : {}),
    },
    metadata,
  );
