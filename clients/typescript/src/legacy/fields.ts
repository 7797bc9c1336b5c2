import { failureFields, isCode } from "../events/codes.js";
import { parseStreamLine } from "../events/parse-stream-line.js";
import { isObject, REASONS } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";

export type Fields = Record<string, unknown>;

const IDS = ["session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "node_name"];
const TEXT = ["content", "delta", "token", "text"];
const TOOL = ["tool_name", "name", "tool"];
/** The fields that are in the metadata or the text of an event, or are left out. */
const BOOKKEEPING = [
  ...["type", "timestamp", "sequence", "request_id", "duration_ms", "tags", "trace_id", "observation_id"],
  ...IDS,
  ...TEXT,
];

/** A text as it is, null as an empty text, any other value as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);

/** The value of the first field of `names` that is neither null nor an empty text; null if all are. */
export const first = (fields: Fields, ...names: string[]): unknown =>
  names.map((name) => fields[name]).find((value) => value != null && value !== "") ?? null;

export const textIn = (fields: Fields, ...names: string[]): string => textOf(first(fields, ...names));
export const toolIn = (fields: Fields): string => textIn(fields, ...TOOL);

/** The fields that are not null, without those of `names`. */
export const without = (fields: Fields, names: string[] = []): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => value != null && !names.includes(name)));

/** An object, or null if it has no fields. */
export const filled = (fields: Fields): Fields | null => (Object.keys(fields).length ? fields : null);

/** The fields of `names` that are not null; null if there are none. */
export const only = (fields: Fields, names: string[]): Fields | null =>
  filled(without(Object.fromEntries(names.map((name) => [name, fields[name]]))));

/** The fields of a message; those in `data` and `metadata` count if it lacks them. */
export function fieldsOf(message: Fields): Fields {
  const names = ["metadata", "data"].filter((name) => isObject(message[name]));
  const nested = names.map((name) => without(message[name] as Fields));
  return Object.assign({}, ...nested, without(message, names));
}

/** The ids among the fields; numbers become texts. */
export const idsOf = (fields: Fields): Fields =>
  Object.fromEntries(
    IDS.filter((name) => /^[sn]/.test(typeof fields[name])).map((name) => [name, textIn(fields, name) || null]),
  );

/** A duration in whole milliseconds. */
export const rounded = (value: unknown): number | null =>
  typeof value === "number" && value >= 0 ? Math.round(value) : null;

/** A time in milliseconds: smaller numbers are seconds, and texts are dates. */
export function timeOf(given: unknown): number | null {
  const time = typeof given === "string" ? Date.parse(given) : given;
  return typeof time === "number" && time > 0 ? Math.round(time < 1e11 ? time * 1000 : time) : null;
}

/** An event. Fields that are null are left out of its data and its metadata. */
export const event = (type: StreamEvent["type"], data: Fields, metadata: Fields = {}): StreamEvent =>
  ({ type, data: without(data), metadata: without(metadata) }) as unknown as StreamEvent;

/** The fields that no event has elsewhere; null if there are none. */
export const othersOf = (fields: Fields): Fields | null => filled(without(fields, BOOKKEEPING));

/**
 * The event of a piece of text; no event if the text is empty. An empty text beside fields that no rule reads is custom
 * data.
 */
export function textEvent(type: string, fields: Fields, ids: Fields): StreamEvent[] {
  const content = textIn(fields, ...TEXT, ...(typeof fields.data === "string" ? ["data"] : []));
  const others = othersOf(fields);
  if (!content && others) return [custom(type, others, ids)];
  const is_complete = type === "final_answer" || null;
  return content || is_complete ? [event(type === "thinking" ? type : "content", { content, is_complete }, ids)] : [];
}

/** A call's arguments as an object: also from JSON text; any other value is kept under `_raw`. */
function argumentsOf(value: unknown): Fields {
  const read = typeof value === "string" ? parseStreamLine(value) : (value ?? {});
  return isObject(read) ? read : { _raw: value };
}

/** The start of a call. `more`: arguments that are given beside the usual ones. */
export function toolStart(fields: Fields, tool_id: string, metadata: Fields = {}, more?: Fields | null): StreamEvent {
  const input = first(fields, "tool_args", "tool_input", "arguments", "args", "input");
  const data = {
    tool_id,
    tool_name: toolIn(fields) || "unknown",
    description: textIn(fields, "description") || null,
    arguments: { ...more, ...argumentsOf(input) },
  };
  return event("tool_call_start", data, metadata);
}

/** The end of a call. The text of its failure may be an exception's: only the code is kept. */
export function toolEnd(
  tool_id: string,
  failed: boolean,
  result: unknown,
  metadata?: Fields,
  code?: unknown,
): StreamEvent {
  const error = failed ? { code: textOf(code) || "TOOL_FAILED", message: "The tool failed." } : null;
  return event("tool_call_end", { tool_id, status: failed ? "failed" : "success", result, error }, metadata);
}

export const sessionEnd = (status: string, metadata?: Fields, summary: Fields | null = null): StreamEvent =>
  event("session_end", { status, summary, reason: REASONS[status] }, metadata);

/**
 * An error. Its code decides the text that is shown, since the text of the message may be an exception's. The fields of
 * `changes` replace those of the code.
 */
export function errorEvent(given: unknown, changes: Fields = {}, metadata?: Fields): StreamEvent {
  const { reason: _, ...known } = failureFields(isCode(given) ? given : "UPSTREAM_ERROR");
  return event("error", { ...known, terminal: true, ...without(changes) }, metadata);
}

/** The first of the values that is true or false. */
export const verdict = (...values: unknown[]): unknown => values.find((value) => typeof value === "boolean");

/** Whether a field reports a failure: by its name, unless its value denies it. */
const isFailing = ([name, value]: [string, unknown]): boolean =>
  /error|exception|fail|stack/i.test(name) &&
  !/warn/i.test(name) &&
  !/^(|ok|no|none|null|false|0)$/i.test(textOf(value));

/** A value without the texts beside a failure, and within it: they may be those of exceptions. Codes are kept. */
function withoutFailures(value: unknown, isFailure = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutFailures(item, isFailure));
  if (!isObject(value)) return isFailure && typeof value === "string" && !isCode(value) ? "[withheld]" : value;
  const entries = Object.entries(value);
  const hasFailed = isFailure || entries.some(isFailing);
  return Object.fromEntries(
    entries.map(([name, item]) => [name, withoutFailures(item, hasFailed && !/(^|_)id$/.test(name))]),
  );
}

/** An event of an app's own. Texts of failures within it are withheld. */
export const custom = (name: string, value: unknown, metadata?: Fields): StreamEvent =>
  event("data", { data_type: "custom", data: { name, value: withoutFailures(value) } }, metadata);
