import { isKnownCode } from "../events/codes.js";
import { isObject } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import {
  custom,
  errorEvent,
  event,
  type Fields,
  fieldsOf,
  idsOf,
  only,
  rounded,
  sessionEnd,
  textEvent,
  textIn,
  textOf,
  toolEnd,
  toolStart,
  verdict,
  without,
} from "./fields.js";

const FAILED = /^(failed|failure|error|timeout|cancell?ed)$/i;
const SUMMARY = ["prompt_tokens", "completion_tokens", "total_tokens", "finish_reason"];

type Reader = (fields: Fields, ids: Fields, type: string, message: Fields) => StreamEvent | null;

const text: Reader = (fields, ids, type) => textEvent(type, fields, ids)[0] ?? event("content", { content: "" });
const toolCall: Reader = (fields, ids) => toolStart(fields, callIn(fields), ids);
const nothing: Reader = () => null;

/** The types of the old vocabulary (protocol, section 7) under their usual aliases. */
const READERS: Readonly<Record<string, Reader>> = {
  token: text,
  content: text,
  thinking: text,
  final_answer: text,
  tool_call: toolCall,
  tool_call_start: toolCall,
  tool_result: toolResult,
  tool_call_end: toolResult,
  dataframe_data: table,
  session_start: (_, ids) => event("session_start", { session_id: ids.session_id, protocol: "1.1" }, ids),
  done,
  session_end: done,
  error,
  warning,
  ping: nothing,
  heartbeat: nothing,
};

/** The events of a message of the old vocabulary; null for another type. */
export function readOld(message: Fields, type: string): StreamEvent[] | null {
  if (!Object.hasOwn(READERS, type)) return null;
  const fields = fieldsOf(message);
  const ids = { ...idsOf(fields), duration_ms: rounded(fields.duration_ms) };
  const event = READERS[type]?.(fields, ids, type, message);
  return event ? [event] : [];
}

const callIn = (fields: Fields): string => textIn(fields, "tool_id", "tool_call_id", "call_id", "id");

function toolResult(fields: Fields, ids: Fields): StreamEvent {
  const { status, success, is_error, error_message, error = error_message } = fields;
  const word = textOf(status);
  const failed = word ? FAILED.test(word) : success === false || is_error === true || Boolean(error);
  const result = [fields.result, fields.tool_output, fields.output, fields.tool_result, fields.content, fields.data];
  const { code = fields.code } = isObject(error) ? error : fields;
  return toolEnd(
    callIn(fields),
    failed,
    result.find((value) => value != null),
    ids,
    code,
  );
}

/** A table: with the old keys, with the new ones, or with its keys beside the type. */
function table(_: Fields, ids: Fields, type: string, message: Fields): StreamEvent {
  const table = isObject(message.data) ? message.data : message;
  const { columns: given, description } = table;
  const found = [table.rows, table.data];
  const rows = found.find(Array.isArray) ?? (Array.isArray(given) && !found.some(Boolean) && []);
  if (!rows) return custom(type, without(message, ["type"]), ids);
  const columns: unknown[] = Array.isArray(given) ? given : [...new Set(rows.filter(isObject).flatMap(Object.keys))];
  const lists = rows.map((row: unknown) => {
    if (isObject(row)) return columns.map((column) => row[textOf(column)] ?? null);
    return Array.isArray(row) ? row : [row];
  });
  const data = { name: textIn(table, "dataframe_name", "name"), columns, rows: lists };
  const metadata = typeof description === "string" ? { description } : null;
  return event("data", { data_type: "dataframe", data, metadata }, ids);
}

/** The end of a stream; a word that is not known says `completed`. */
function done(fields: Fields, ids: Fields): StreamEvent {
  const { usage, summary = usage } = fields;
  const word = textOf(fields.status);
  const isStop = /^(cancell?ed|stopped|aborted)$/i.test(word);
  const status = isStop ? "cancelled" : /^(error|failed)$/i.test(word) ? "error" : word;
  const counts = only(isObject(summary) ? { ...summary, ...fields } : fields, SUMMARY);
  return sessionEnd(/^(cancelled|error|suspended)$/.test(status) ? status : "completed", ids, counts);
}

function error(given: Fields, ids: Fields): StreamEvent {
  const fields = isObject(given.error) ? { ...given, ...given.error } : given;
  const { error, error_code = isKnownCode(error) ? error : null, code = error_code } = fields;
  const recoverable = verdict(fields.recoverable, fields.retryable, fields.retry);
  return errorEvent(code, { recoverable }, { ...ids, duration_ms: null });
}

function warning({ message_code, code }: Fields, ids: Fields): StreamEvent {
  const message = "The service reported a problem that did not stop the answer.";
  const known = [message_code, code].find((value) => typeof value === "string");
  return event("warning", { message, message_code: known }, { ...ids, duration_ms: null });
}
