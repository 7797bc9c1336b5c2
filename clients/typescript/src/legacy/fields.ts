import { parseStreamLine } from "../events/parse-stream-line.js";
import { isObject } from "../events/read-event.js";

export type Fields = Record<string, unknown>;

// Lists of names are texts with blanks between the names, which take the least room.
const IDS = "session_id thread_id message_id run_id parent_run_id node_id node_name";
export const TEXT = "content delta token text data";
export const TOOL = "tool_name name tool";
/** The fields that are in the metadata of an event, or are left out. */
export const BOOKKEEPING = `type timestamp sequence request_id duration_ms ${IDS}`;

/** Whether a text is one of `words`, in upper or lower case. */
export const isOneOf = (word: unknown, words: string): boolean => words.split(" ").includes(String(word).toLowerCase());

/** The value of the first field of `names` that is neither null nor an empty text, or that `isMeant`. */
export const first = (
  fields: Fields,
  names: string,
  isMeant = (value: unknown) => value != null && value !== "",
): unknown =>
  names
    .split(" ")
    .map((name) => fields[name])
    .find(isMeant);

/** The value of the first field of `names` that is true or false. */
export const flagIn = (fields: Fields, names: string): unknown =>
  first(fields, names, (value) => typeof value === "boolean");

/** A text as it is; any other value as JSON; null for null and an empty text. */
export const textOf = (value: unknown): string | null =>
  value == null || value === "" ? null : typeof value === "string" ? value : JSON.stringify(value);

export const textIn = (fields: Fields, names: string): string | null => textOf(first(fields, names));

/** The fields that are not null, without those of `names`. */
export const without = (fields: Fields, names = "", areMeant = false): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value != null && names.split(" ").includes(name) === areMeant),
  );

/** An object, or null if it has no fields. */
export const filled = (fields: Fields): Fields | null => (Object.keys(fields).length ? fields : null);

/** The fields of `names` that are not null; null if there are none. */
export const only = (fields: Fields, names: string): Fields | null => filled(without(fields, names, true));

/** The fields of a message; those in `data` and `metadata` count if it lacks them. */
export function fieldsOf(message: Fields): Fields {
  const nested = ["metadata", "data"].filter((name) => isObject(message[name]));
  return Object.assign(
    {},
    ...nested.map((name) => without(message[name] as Fields)),
    without(message, nested.join(" ")),
  );
}

/** The ids among the fields, texts and numbers, and their duration. */
export const idsOf = (fields: Fields): Fields => ({
  ...Object.fromEntries(
    Object.entries(without(fields, IDS, true)).map(([name, value]) => [
      name,
      /^[sn]/.test(typeof value) ? textOf(value) : null,
    ]),
  ),
  duration_ms: rounded(fields.duration_ms ?? fields.duration),
});

/** A duration in whole milliseconds. */
export const rounded = (value: unknown): number | null =>
  typeof value === "number" && value >= 0 ? Math.round(value) : null;

/** A time in milliseconds: smaller numbers are seconds, and texts are dates. */
export function timeOf(given: unknown): number | null {
  const time = typeof given === "string" ? Date.parse(given) : given;
  return rounded(typeof time === "number" && time < 1e11 ? time * 1000 : time) || null;
}

/** A call's arguments as an object: also from JSON text; any other value is kept under `_raw`. */
export function argumentsOf(value: unknown): Fields {
  const read = typeof value === "string" ? parseStreamLine(value) : (value ?? {});
  return isObject(read) ? read : { _raw: value };
}
