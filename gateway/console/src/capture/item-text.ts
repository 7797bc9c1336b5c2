// Texts of items: a line for the lane, and everything for the panel beside it.

import { bytes } from "../text/format.js";
import { asCount, asText, type Item, isObject, type Json } from "./shapes.js";

const LINE_CHARACTERS = 600;

/** Returns the bytes of a line or of a request's body as text; undefined: only their number was kept. */
export function bodyText(body: Json): string | undefined {
  const data = asText(body.data);
  if (data !== undefined) return data;
  const encoded = asText(body.base64);
  const decoded = encoded === undefined ? undefined : fromBase64(encoded);
  return decoded && new TextDecoder().decode(decoded);
}

export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Returns the word in front of a line: the type of an event. */
export function itemKind(item: Item): string {
  return item.lane === "event" ? (asText(eventOf(item).type) ?? "event") : "";
}

/** Returns the text of a line, cut where it is too long for one. */
export function itemLine(item: Item): string {
  if (item.lane === "event") return eventLine(eventOf(item)).slice(0, LINE_CHARACTERS);
  const text = bodyText(item.line);
  return text === undefined ? bytes(asCount(item.line.bytes) ?? 0) : text.slice(0, LINE_CHARACTERS);
}

/** Returns all of an item. */
export function itemWhole(item: Item): string {
  if (item.lane === "event") return JSON.stringify(item.line.event, null, 2) ?? "";
  return (
    bodyText(item.line) ?? `${bytes(asCount(item.line.bytes) ?? 0)}. Only sizes and times of this stream were kept.`
  );
}

/** Returns the event of an item of that lane. */
export function eventOf(item: Item): Json {
  return isObject(item.line.event) ? item.line.event : {};
}

type Writer = (data: Json) => readonly unknown[];

const EVENT_LINES: Readonly<Record<string, Writer>> = {
  session_start: (data) => [data.session_id],
  content: (data) => [quoted(data.content), data.op, data.channel, data.is_complete === true && "complete"],
  thinking: (data) => [quoted(data.content), data.stage],
  tool_call_start: (data) => [data.tool_name, data.arguments, data.tool_id],
  tool_call_delta: (data) => [data.tool_name, quoted(data.arguments_delta), data.tool_id],
  tool_call_progress: (data) => [data.progress, data.message, data.tool_id],
  tool_call_end: (data) => [data.status, data.error ?? data.result, data.tool_id],
  data: (data) => [data.data_type, data.data],
  reference: (data) => [data.citations],
  status: (data) => [data.scope, data.state, data.name, data.detail],
  warning: (data) => [data.message_code, data.message],
  interaction: (data) => [data.kind, data.state, data.title, data.questions ?? data.schema],
  error: (data) => [data.code, data.message, data.terminal === false && "the run goes on"],
  session_end: (data) => [data.status, data.reason],
};

function eventLine(event: Json): string {
  const data = isObject(event.data) ? event.data : {};
  const write = EVENT_LINES[asText(event.type) ?? ""];
  const parts = write ? write(data) : [data];
  return parts
    .filter((part) => part !== undefined && part !== false)
    .map(inLine)
    .join(" ");
}

function inLine(part: unknown): string {
  return typeof part === "string" ? part : (JSON.stringify(part) ?? "");
}

function quoted(text: unknown): unknown {
  return typeof text === "string" ? `"${text}"` : text;
}
