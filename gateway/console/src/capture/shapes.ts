// Lines of a capture file, as the page reads them. Every field may be of any type: `fieldsOf` checks.

export type Json = Readonly<Record<string, unknown>>;

export type Lane = "read" | "event" | "write";
export const LANES: readonly Lane[] = ["read", "event", "write"];

/** One read, event or write. */
export interface Item {
  readonly lane: Lane;
  /** Its place in its lane. */
  readonly index: number;
  /** Milliseconds since the request came. */
  readonly t: number;
  /** The number of a read or a write, the sequence of an event. */
  readonly n: number;
  /** The number of the read that it belongs to, as the file has it. */
  readonly read: number | undefined;
  /** The place of that read in its lane; -1: it belongs to none. Of a read: its own place. */
  readonly readIndex: number;
  /** First and last sequence of the events in a write. */
  readonly sequences: readonly [number, number] | undefined;
  readonly line: Json;
}

export interface Mark {
  readonly what: string;
  readonly t: number;
  readonly text: string;
  /** The place of its read; -1: it has none. */
  readonly readIndex: number;
  /** The length of a silence. */
  readonly ms: number | undefined;
  /** The item that is selected with it; undefined: none. */
  readonly target: Item | undefined;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Returns a number that counts something; undefined: it is none. */
export function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
