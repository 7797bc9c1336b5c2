import { isObject } from "../events/read-event.js";
import {
  custom,
  event,
  type Reader,
  type Readers,
  readEnd,
  readError,
  readText,
  readToolEnd,
  toolStart,
} from "./drafts.js";
import { type Fields, textIn, textOf, without } from "./fields.js";

const callIn = (fields: Fields): string | null => textIn(fields, "tool_id tool_call_id call_id id");
const toolCall: Reader = (fields, ids) => toolStart(fields, callIn(fields), ids);
const toolResult: Reader = (fields, ids) => readToolEnd(fields, callIn(fields), ids);
const nothing: Reader = () => [];

/** The types of the old vocabulary (protocol, section 7) under their usual aliases. */
export const OLD: Readers = {
  __proto__: null as never,
  token: readText,
  content: readText,
  thinking: readText,
  final_answer: readText,
  tool_call: toolCall,
  tool_call_start: toolCall,
  tool_result: toolResult,
  tool_call_end: toolResult,
  dataframe_data: table,
  session_start: (_, ids) => event("session_start", { session_id: ids.session_id, protocol: "1.1" }, ids),
  done: readEnd,
  session_end: readEnd,
  error: readError,
  warning: (fields, ids) => {
    const message = "The service reported a problem that did not stop the answer.";
    return event(
      "warning",
      { message, message_code: textIn(fields, "message_code code") },
      { ...ids, duration_ms: null },
    );
  },
  ping: nothing,
  heartbeat: nothing,
};

/** A table: with the old keys, with the new ones, or with its keys beside the type. */
function table(...[, ids, type, message]: Parameters<Reader>) {
  const table = isObject(message.data) ? message.data : message;
  const { columns: given, description } = table;
  const rows: unknown[] | undefined = [table.rows, table.data, given && []].find(Array.isArray);
  if (!rows) return custom(type, without(message, "type"), ids);
  const columns: unknown[] = Array.isArray(given) ? given : [...new Set(rows.filter(isObject).flatMap(Object.keys))];
  const data = {
    name: textIn(table, "dataframe_name name") ?? "",
    columns,
    rows: rows.map((row) =>
      isObject(row) ? columns.map((column) => row[textOf(column) ?? ""] ?? null) : Array.isArray(row) ? row : [row],
    ),
  };
  const metadata = typeof description === "string" ? { description } : null;
  return event("data", { data_type: "dataframe", data, metadata }, ids);
}
