import type { EventMetadata, StreamEvent } from "../protocol.js";
import { failureFields, typedOr } from "./codes.js";
import { DATA_SHAPES, SHAPES, type Shape } from "./shapes.js";

type JsonObject = Record<string, unknown>;

/** Whether a JSON value is an object, and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads one message of the standard protocol; null if it is no object, or has no type.
 *
 * Fields that protocol 1.0 leaves out are filled in, and a null is an absent field. If a required field does not fit, or
 * the type is not known, the event is `unknown` and keeps its data.
 */
export function readEvent(message: unknown): StreamEvent | null {
  if (!isObject(message) || typeof message.type !== "string") return null;
  const { type } = message;
  const metadata: EventMetadata = isObject(message.metadata) ? withoutNull(message.metadata) : {};
  const data = filledIn(type, message.data, metadata);
  const event = fitsType(type, data)
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

const fitsType = (type: string, data: unknown): boolean =>
  fits(data, SHAPES[type]) && (type !== "data" || fitsDataType(data as JsonObject));

const fitsDataType = ({ data_type, data }: JsonObject): boolean => fits(data, DATA_SHAPES[data_type as string]);

function fits(value: unknown, shape: Shape | string | undefined): boolean {
  if (typeof shape === "string") return isOf(shape, value);
  return (
    Boolean(shape) && isObject(value) && Object.entries(shape as Shape).every(([name, kind]) => isOf(kind, value[name]))
  );
}

function isOf(kind: string, value: unknown): boolean {
  if (kind.includes("|")) return typeof value === "string" && kind.split("|").includes(value);
  const isList = Array.isArray(value);
  if (kind[0] === "[") return isList && value.every((item) => isOf(kind.slice(1), item));
  const letter = value === null ? "0" : isList ? "a" : (typeof value)[0];
  return kind ? kind.includes(letter as string) : value !== undefined;
}

/** The data of an event, with the fields that protocol 1.0 or a careless server leaves out. */
function filledIn(type: string, given: unknown, metadata: EventMetadata): unknown {
  const isBare = type === "session_start" || type === "session_end";
  const value = given ?? (isBare ? {} : null);
  if (!isObject(value)) return value;
  const data = withoutNull(value);
  switch (type) {
    case "session_start":
      return { session_id: metadata.session_id ?? "", request_id: metadata.request_id ?? "", protocol: "1.0", ...data };
    case "tool_call_start":
      return { arguments: {}, ...data };
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

/** Why a stream with this status has ended, unless its end names another reason. */
export const REASONS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  completed: "done",
  suspended: "interaction",
  cancelled: "cancelled",
  error: "upstream_error",
};

/** A `session_end` ends the stream whatever its status is: a status that is not known must not make it endless. */
function filledInEnd(data: JsonObject): JsonObject {
  const word = String(data.status)
    .replace(/^fail(ed|ure)$/, "error")
    .replace("canceled", "cancelled");
  const status = REASONS[word] ? word : "completed";
  return { reason: REASONS[status], ...data, status };
}

const ERROR_TYPES = "validation|execution|timeout|system";

function filledInError(data: JsonObject): JsonObject {
  const { error_type, code: given, message, recoverable: again, terminal } = data;
  const isNamed = typeof given === "string" && given;
  const code = isNamed ? given : error_type === "timeout" ? "UPSTREAM_TIMEOUT" : "UPSTREAM_ERROR";
  const row = failureFields(code);
  const recoverable = typedOr(again, row.recoverable);
  return {
    ...data,
    error_type: isOf(ERROR_TYPES, error_type) ? error_type : row.error_type,
    code,
    message: typedOr(message, row.message),
    recoverable,
    terminal: typedOr(terminal, !recoverable),
  };
}
