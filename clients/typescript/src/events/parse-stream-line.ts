import { isObject } from "./read-event.js";

/** The JSON object of one NDJSON line or one SSE `data:` line; null for any other line. */
export function parseStreamLine(line: string): Record<string, unknown> | null {
  const text = line.trim().replace(/^\uFEFF?\s*(data:)?/, "");
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
