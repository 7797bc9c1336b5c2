import { isKnownCode } from "../events/codes.js";
import { isObject, readEvent } from "../events/read-event.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";
import {
  argumentsOf,
  custom,
  event,
  type Fields,
  first,
  hiddenError,
  IDS,
  idsOf,
  metadataOf,
  present,
  sessionEnd,
  textOf,
  toolEnd,
  without,
} from "./fields.js";

/** The types of the old vocabulary (protocol, section 7) under their usual aliases. */
const ALIASES: Readonly<Record<string, string>> = {
  token: "content",
  content: "content",
  tool_call: "tool_call",
  tool_call_start: "tool_call",
  tool_result: "tool_result",
  tool_call_end: "tool_result",
  thinking: "thinking",
  final_answer: "final_answer",
  dataframe_data: "dataframe_data",
  session_start: "session_start",
  done: "done",
  session_end: "done",
  error: "error",
  warning: "warning",
  ping: "ping",
  heartbeat: "ping",
};

const TEXT = ["content", "token", "text", "delta"];
const FAILED = ["failed", "failure", "error", "timeout", "cancelled", "canceled"];
const ENDS: Readonly<Record<string, string>> = {
  error: "error",
  failed: "error",
  cancelled: "cancelled",
  canceled: "cancelled",
  stopped: "cancelled",
  aborted: "cancelled",
  suspended: "suspended",
};
const SUMMARY = ["prompt_tokens", "completion_tokens", "total_tokens", "finish_reason"];

export const aliasOf = (type: unknown): string | undefined =>
  typeof type === "string" && Object.hasOwn(ALIASES, type) ? ALIASES[type] : undefined;

/** The events of a message of the old vocabulary. */
export function readOld(message: Fields, type: string): StreamEvent[] {
  const fields = fieldsOf(message);
  const metadata = metadataOf(fields);
  const text = textOf(first(fields, ...TEXT) ?? (typeof fields.data === "string" ? fields.data : ""));
  switch (aliasOf(type)) {
    case "content":
      return [text ? event("content", { content: text }, metadata) : withoutText(fields, type)];
    case "thinking":
      return [text ? event("thinking", { content: text }, metadata) : withoutText(fields, type)];
    case "final_answer":
      if (!text && hasOtherFields(fields)) return [withoutText(fields, type)];
      return [event("content", { content: text, is_complete: true }, metadata)];
    case "tool_call":
      return [toolCall(fields)];
    case "tool_result":
      return [toolResult(fields)];
    case "dataframe_data":
      return [dataframe(message)];
    case "session_start":
      return [event("session_start", present({ session_id: idsOf(fields).session_id, protocol: "1.1" }), metadata)];
    case "done":
      return [done(fields)];
    case "error":
      return [error(fields)];
    case "warning":
      return [warning(fields)];
    case "ping":
      return [];
    default:
      return [other(message, type)];
  }
}

const BOOKKEEPING = ["type", "timestamp", "sequence", "request_id", "duration_ms", ...IDS, ...TEXT];

const hasOtherFields = (fields: Fields): boolean => Object.keys(without(fields, ...BOOKKEEPING)).length > 0;

/** The event of an empty piece: the app's own if it has fields that no rule reads. */
const withoutText = (fields: Fields, type: string): StreamEvent =>
  hasOtherFields(fields)
    ? custom(type, without(fields, ...BOOKKEEPING), idsOf(fields))
    : event("content", { content: "" }, {});

/** The fields of a message; those in `data` and `metadata` count if it lacks them. */
function fieldsOf(message: Fields): Fields {
  const nested = [message.metadata, message.data].filter(isObject);
  const all = Object.fromEntries([...nested, message].flatMap((place) => Object.entries(without(place))));
  for (const name of ["data", "metadata"]) if (isObject(message[name])) delete all[name];
  return all;
}

function toolCall(fields: Fields): StreamEvent {
  const description = first(fields, "description");
  return event(
    "tool_call_start",
    {
      tool_id: textOf(first(fields, "tool_id", "tool_call_id", "call_id", "id")),
      tool_name: textOf(first(fields, "tool_name", "name", "tool")) || "unknown",
      ...(description === undefined ? {} : { description: textOf(description) }),
      arguments: argumentsOf(first(fields, "tool_args", "arguments", "args", "tool_input", "input")),
    },
    metadataOf(fields),
  );
}

function toolResult(fields: Fields): StreamEvent {
  const error = first(fields, "error", "error_message");
  const status = textOf(fields.status).toLowerCase();
  const failed = status
    ? FAILED.includes(status)
    : fields.success === false || fields.is_error === true || Boolean(error);
  const result = ["result", "tool_output", "output", "tool_result", "content", "data"].map((name) => fields[name]);
  const code = isObject(error) ? (error.code ?? fields.code) : fields.code;
  const tool_id = textOf(first(fields, "tool_id", "tool_call_id", "call_id", "id"));
  return toolEnd({ tool_id, failed, result: result.find((value) => value != null), code }, metadataOf(fields));
}

/** A table: with the old keys, with the new ones, or with its keys beside the type. */
function dataframe(message: Fields): StreamEvent {
  const table = isObject(message.data) ? message.data : message;
  const rows: unknown[] | undefined = [table.rows, table.data].find(Array.isArray);
  const metadata = metadataOf(message);
  const isEmpty = Array.isArray(table.columns) && !table.rows && !table.data;
  if (!rows && !isEmpty) return custom("dataframe_data", without(message, "type"), metadata);
  const objects = (rows ?? []).filter(isObject);
  const columns = Array.isArray(table.columns)
    ? table.columns
    : [...new Set(objects.flatMap((row) => Object.keys(row)))];
  const lists = (rows ?? []).map((row) => {
    if (isObject(row)) return columns.map((column) => row[textOf(column)] ?? null);
    return Array.isArray(row) ? row : [row];
  });
  const name = textOf(first(table, "dataframe_name", "name"));
  const about = typeof table.description === "string" ? { metadata: { description: table.description } } : {};
  return event("data", { data_type: "dataframe", data: { name, columns, rows: lists }, ...about }, metadata);
}

function done(fields: Fields): StreamEvent {
  const source: Fields = { ...(isObject(fields.usage) ? fields.usage : {}), ...fields };
  const summary = Object.fromEntries(
    SUMMARY.filter((name) => source[name] != null).map((name) => [name, source[name]]),
  );
  const word = textOf(fields.status).toLowerCase();
  return sessionEnd((Object.hasOwn(ENDS, word) && ENDS[word]) || "completed", metadataOf(fields), summary);
}

function error(given: Fields): StreamEvent {
  const fields = isObject(given.error) ? { ...given, ...given.error } : given;
  const retry = [fields.recoverable, fields.retryable, fields.retry].find((value) => typeof value === "boolean");
  return hiddenError(fields.code ?? fields.error_code ?? codeIn(fields.error), true, stampOf(given), retry);
}

/** Ids and time: only a call has a duration. */
function stampOf(fields: Fields): EventMetadata {
  const { duration_ms: _, ...metadata } = metadataOf(fields);
  return metadata;
}

/** A text that is a code of the protocol is a code under any name. */
const codeIn = (text: unknown): unknown => (isKnownCode(text) ? text : undefined);

function warning(fields: Fields): StreamEvent {
  const code = [fields.message_code, fields.code].find((value) => typeof value === "string");
  const message = "The service reported a problem that did not stop the answer.";
  return event("warning", { message, ...(code === undefined ? {} : { message_code: code }) }, metadataOf(fields));
}

/** A message whose type the old vocabulary does not have: a standard event without metadata, or the app's own. */
function other(message: Fields, type: string): StreamEvent {
  const read = isObject(message.data) ? readEvent({ ...message, metadata: message.metadata ?? {} }) : null;
  if (read && read.type !== "unknown") return read;
  const metadata = isObject(message.metadata) ? message.metadata : {};
  return custom(type || "message", without(message, "type"), stampOf({ ...metadata, ...message }));
}
