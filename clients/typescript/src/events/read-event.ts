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
 * What protocol 1.0 leaves out is filled in. A field that may be absent and does not fit is left out; where a
 * field that has to be there does not fit, or the type is not known, the event is `unknown` and keeps its data.
 */
export function readEvent(message: unknown): StreamEvent | null {
  if (!isObject(message) || typeof message.type !== "string") return null;
  const metadata = readMetadata(message.metadata);
  const fields = message.type.includes(".") ? undefined : shapes().get(message.type);
  const data = fields && filledIn(message.type, message.data, metadata);
  const fitting = data && fitted(data, fields);
  if (!fitting || (message.type === "data" && !fitsDataType(fitting))) {
    return { type: "unknown", data: { type: message.type, data: message.data }, metadata };
  }
  return { type: message.type, data: fitting, metadata } as unknown as StreamEvent;
}

const readMetadata = (value: unknown): EventMetadata =>
  isObject(value) ? (fitted(value, shapes().get("event.metadata") as Field[]) ?? {}) : {};

interface Field {
  name: string;
  isOptional: boolean;
  kind: string;
}

let known: Map<string, Field[]> | null = null;

/** The lines of `SHAPES` by name, read once. */
function shapes(): Map<string, Field[]> {
  known ??= new Map(
    SHAPES.trim()
      .split("\n")
      .map((line) => {
        const [type, ...fields] = line.split(" ");
        return [type as string, fields.map(fieldOf)];
      }),
  );
  return known;
}

function fieldOf(text: string): Field {
  const [name, kind] = text.split(":") as [string, string];
  const isOptional = name.endsWith("?");
  return { name: isOptional ? name.slice(0, -1) : name, isOptional, kind };
}

function fits(value: unknown, kind: string): boolean {
  if (kind[0] === "=") return kind.slice(1).split("|").includes(String(value)) && typeof value !== "object";
  if (kind[0] === "a" && kind[1]) return Array.isArray(value) && value.every((item) => fits(item, kind.slice(1)));
  return kind === "x" || kind.includes(letterOf(value));
}

function letterOf(value: unknown): string {
  if (value === null) return "0";
  return Array.isArray(value) ? "a" : ((typeof value)[0] as string);
}

/** `value` without what may be absent and does not fit; null where something that has to be there does not. */
function fitted(value: JsonObject, fields: Field[]): JsonObject | null {
  let fitting = value;
  for (const { name, isOptional, kind } of fields) {
    const isThere = Object.hasOwn(value, name);
    if (isThere ? fits(value[name], kind) : isOptional) continue;
    if (!isOptional) return null;
    if (fitting === value) fitting = { ...value };
    delete fitting[name];
  }
  return fitting;
}

function fitsDataType({ data_type, data }: JsonObject): boolean {
  const items = shapes().get(`data.${data_type}*`);
  if (items) return Array.isArray(data) && data.every((item) => isObject(item) && fitted(item, items));
  return isObject(data) && fitted(data, shapes().get(`data.${data_type}`) as Field[]) !== null;
}

/** What protocol 1.0, or a careless server, leaves out of the data of an event. */
function filledIn(type: string, value: unknown, metadata: EventMetadata): JsonObject | null {
  const data = value ?? (type === "session_start" || type === "session_end" ? {} : null);
  if (!isObject(data)) return null;
  switch (type) {
    case "session_start":
      return {
        session_id: metadata.session_id ?? "",
        request_id: metadata.request_id ?? "",
        protocol: "1.0",
        ...present(data),
      };
    case "tool_call_start":
      return data.arguments == null ? { ...data, arguments: {} } : data;
    case "tool_call_end":
      return data.status == null ? { ...data, status: "success" } : data;
    case "tool_call_progress":
      return data.progress === undefined ? { ...data, progress: null } : data;
    case "tool_call_delta":
      return data.arguments_delta == null ? { ...data, arguments_delta: "" } : data;
    case "session_end":
      return filledInEnd(data);
    case "error":
      return filledInError(data);
    default:
      return data;
  }
}

const present = (data: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value != null));

const kindOf = (type: string, field: string): string =>
  shapes()
    .get(type)
    ?.find(({ name }) => name === field)?.kind ?? "x";

const OTHER_ENDS: Readonly<Record<string, string>> = { failed: "error", failure: "error", canceled: "cancelled" };

/** A stream is over whatever word its end has: not to know the word must not make it endless. */
function endStatus(status: unknown): unknown {
  if (typeof status === "string" && Object.hasOwn(REASONS, status)) return status;
  return (typeof status === "string" && Object.hasOwn(OTHER_ENDS, status) && OTHER_ENDS[status]) || "completed";
}

const REASONS: Readonly<Record<string, string>> = {
  completed: "done",
  suspended: "interaction",
  cancelled: "cancelled",
  error: "upstream_error",
};

function filledInEnd(data: JsonObject): JsonObject {
  const status = endStatus(data.status) as string;
  const isKnown = fits(data.reason, kindOf("session_end", "reason"));
  return { ...data, status, reason: isKnown ? data.reason : REASONS[status] };
}

function filledInError(data: JsonObject): JsonObject {
  const given = typeof data.code === "string" && data.code;
  const code = given || (data.error_type === "timeout" ? "UPSTREAM_TIMEOUT" : "UPSTREAM_ERROR");
  const meant = rowOf(code) ?? failureOf("UPSTREAM_ERROR");
  const types = kindOf("error", "error_type");
  const recoverable = typeof data.recoverable === "boolean" ? data.recoverable : meant.recoverable;
  return {
    ...data,
    error_type: fits(data.error_type, types) ? data.error_type : meant.errorType,
    code,
    message: typeof data.message === "string" ? data.message : meant.message,
    recoverable,
    terminal: typeof data.terminal === "boolean" ? data.terminal : !recoverable,
  };
}
