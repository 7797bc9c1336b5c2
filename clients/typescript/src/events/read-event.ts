import type { EventMetadata, StreamEvent } from "../protocol.js";
import { failureOf, rowOf } from "./codes.js";
import { SHAPES } from "./shapes.js";

type JsonObject = Record<string, unknown>;

/** Whether a JSON value is an object, and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The event that one message of the standard protocol is; null if it is none: no object, or without a type.
 *
 * What protocol 1.0 leaves out is filled in, and a null is an absent field. Where a field that has to be there does not
 * fit, or the type is not known, the event is `unknown` and keeps its data.
 */
export function readEvent(message: unknown): StreamEvent | null {
  if (!isObject(message) || typeof message.type !== "string") return null;
  const { type } = message;
  const metadata: EventMetadata = isObject(message.metadata) ? withoutNull(message.metadata) : {};
  const fields = type.includes(".") ? undefined : shapes().get(type);
  const data = fields && filledIn(type, message.data, metadata);
  const isFitting = data && fits(data, fields) && (type !== "data" || fitsDataType(data));
  const event = isFitting
    ? { type, data, metadata }
    : { type: "unknown", data: { type, data: message.data }, metadata };
  return event as unknown as StreamEvent;
}

/** Fields of which null is a value. */
const NULLABLE = ["progress", "result", "detail", "value"];

function withoutNull(object: JsonObject): JsonObject {
  const entries = Object.entries(object);
  const present = entries.filter(([name, value]) => value !== null || NULLABLE.includes(name));
  return present.length < entries.length ? Object.fromEntries(present) : object;
}

let known: Map<string, [name: string, kind: string][]> | null = null;

/** The lines of `SHAPES` by name, read once. */
function shapes(): NonNullable<typeof known> {
  known ??= new Map(
    SHAPES.trim()
      .split("\n")
      .map((line) => {
        const [type, ...fields] = line.split(" ");
        return [type as string, fields.map((field) => field.split(":") as [string, string])];
      }),
  );
  return known;
}

const fits = (value: unknown, fields: [string, string][] | undefined): boolean =>
  isObject(value) && (fields ?? []).every(([name, kind]) => Object.hasOwn(value, name) && isOf(kind, value[name]));

function isOf(kind: string, value: unknown): boolean {
  if (kind[0] === "=") return typeof value === "string" && kind.slice(1).split("|").includes(value);
  if (kind[0] === "a" && kind[1]) return Array.isArray(value) && value.every((item) => isOf(kind.slice(1), item));
  const letter = value === null ? "0" : Array.isArray(value) ? "a" : (typeof value)[0];
  return kind === "x" || kind.includes(letter as string);
}

function fitsDataType({ data_type, data }: JsonObject): boolean {
  const items = shapes().get(`data.${data_type}*`);
  return items
    ? Array.isArray(data) && data.every((item) => fits(item, items))
    : fits(data, shapes().get(`data.${data_type}`));
}

/** The data of an event with what protocol 1.0, or a careless server, leaves out. */
function filledIn(type: string, value: unknown, metadata: EventMetadata): JsonObject | null {
  const isBare = type === "session_start" || type === "session_end";
  const given = value ?? (isBare ? {} : null);
  if (!isObject(given)) return null;
  const data = withoutNull(given);
  switch (type) {
    case "session_start":
      return { session_id: metadata.session_id ?? "", request_id: metadata.request_id ?? "", protocol: "1.0", ...data };
    case "tool_call_start":
      return "arguments" in data ? data : { ...data, arguments: {} };
    case "tool_call_delta":
      return { arguments_delta: "", ...data };
    case "tool_call_progress":
      return { progress: null, ...data };
    case "tool_call_end":
      return { status: "success", ...data };
    case "session_end":
      return filledInEnd(data);
    case "error":
      return filledInError(data);
    default:
      return data;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  completed: "done",
  suspended: "interaction",
  cancelled: "cancelled",
  error: "upstream_error",
};
const OTHER_ENDS: Readonly<Record<string, string>> = { failed: "error", failure: "error", canceled: "cancelled" };

/** A stream is over whatever word its end has: not to know the word must not make it endless. */
function filledInEnd(data: JsonObject): JsonObject {
  const word = String(data.status);
  const status = Object.hasOwn(REASONS, word) ? word : Object.hasOwn(OTHER_ENDS, word) ? OTHER_ENDS[word] : "completed";
  return { reason: REASONS[status as string], ...data, status };
}

function filledInError(data: JsonObject): JsonObject {
  const { error_type, code: given, message, recoverable: again, terminal } = data;
  const code =
    typeof given === "string" && given ? given : error_type === "timeout" ? "UPSTREAM_TIMEOUT" : "UPSTREAM_ERROR";
  const row = rowOf(code) ?? failureOf("UPSTREAM_ERROR");
  const recoverable = typeof again === "boolean" ? again : row.recoverable;
  return {
    ...data,
    error_type: /^(validation|execution|timeout|system)$/.test(String(error_type)) ? error_type : row.error_type,
    code,
    message: typeof message === "string" ? message : row.message,
    recoverable,
    terminal: typeof terminal === "boolean" ? terminal : !recoverable,
  };
}
