import type { StreamEvent } from "../protocol.js";
import { isStandard } from "./normalizer.js";

/** One event of the LangGraph chat's envelope. */
export interface StreamEventEnvelope {
  type: "content" | "tool_start" | "tool_end" | "status" | "error" | "done" | "thread_id";
  node_name: string;
  run_id: string;
  timestamp: number;
  thread_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the document's own type: its pages read any field of it
  data: any;
}

export interface ContentEventData {
  delta: string;
}

export interface ToolStartEventData {
  tool_name: string;
  // biome-ignore lint/suspicious/noExplicitAny: as in the document
  tool_input: any;
}

export interface ToolEndEventData {
  tool_name: string;
  // biome-ignore lint/suspicious/noExplicitAny: as in the document
  tool_output: any;
}

export interface ErrorEventData {
  message: string;
}

/** An event as such a page gets it: an envelope, one of the flat form before it, or a standard event. */
export type ChatStreamEvent =
  | StreamEventEnvelope
  | { type: "content"; content: string; thread_id: string }
  // biome-ignore lint/suspicious/noExplicitAny: as in the document
  | { type: "tool_start"; tool_name: string; tool_input: any; thread_id: string }
  // biome-ignore lint/suspicious/noExplicitAny: as in the document
  | { type: "tool_end"; tool_name: string; tool_output: any; thread_id: string }
  | { type: "done"; thread_id: string }
  | { stopped: true; thread_id: string }
  | { type: "error"; error: string; thread_id: string }
  | StreamEvent;

/** Tests exactly what the document tests, so that a page changes only its import. */
// biome-ignore lint/suspicious/noExplicitAny: an event may hold anything
export function toEnvelope(event: any): StreamEventEnvelope | null {
  if (typeof event !== "object" || !event) return null;
  if (isStandard(event)) return ofStandard(event);
  return event.data !== undefined && event.run_id !== undefined ? event : ofFlat(event);
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function ofFlat({ type, node_name, run_id, timestamp, thread_id = "", ...event }: any): StreamEventEnvelope | null {
  const envelope = (type: StreamEventEnvelope["type"], node: string, data: unknown): StreamEventEnvelope => ({
    type,
    node_name: node_name || node,
    run_id: run_id || "",
    timestamp: timestamp || Date.now(),
    thread_id: thread_id || "",
    data,
  });
  const { tool_name } = event;
  if (type === "content" && event.content !== undefined) return envelope(type, "unknown", { delta: event.content });
  if (type === "tool_start") return envelope(type, "unknown", { tool_name, tool_input: event.tool_input });
  if (type === "tool_end") return envelope(type, "unknown", { tool_name, tool_output: event.tool_output });
  if (type === "error") return envelope(type, "system", { message: event.error || "Unknown error" });
  node_name = run_id = timestamp = null; // of the whole stream
  if (event.stopped) return envelope("error", "system", STOPPED);
  return event.done || type === "done" ? envelope("done", "system", {}) : null;
}

const STOPPED = { message: "Stream stopped" };

/** The names of the last calls by id: the end of a standard call has its id alone, and such pages pair by name. */
const names = new Map<string, string>();
const MOST_NAMES = 200;

// biome-ignore lint/suspicious/noExplicitAny: the fields of a standard event may hold anything
function ofStandard({ type, data, metadata }: any): StreamEventEnvelope | null {
  const { run_id, node_name, thread_id, timestamp, upstream_time } = metadata;
  const envelope = (type: StreamEventEnvelope["type"], data: unknown, node = "system", run = run_id) => ({
    type,
    node_name: node_name || node,
    run_id: run ?? "",
    timestamp: upstream_time ?? timestamp ?? Date.now(),
    thread_id: thread_id ?? "",
    data,
  });
  const { tool_id, tool_name = names.get(tool_id) ?? "unknown" } = data;
  switch (type) {
    case "content":
      return data.content && data.channel == null ? envelope("content", { delta: data.content }, "unknown") : null;
    case "tool_call_start":
      if (names.size >= MOST_NAMES) names.clear();
      names.set(tool_id, tool_name);
      return envelope("tool_start", { tool_name, tool_input: data.arguments ?? {} }, "unknown", tool_id);
    case "tool_call_end": {
      const tool_output = data.status === "failed" ? data.error?.message : data.result;
      return envelope("tool_end", { tool_name, tool_output }, "unknown", tool_id);
    }
    case "session_start":
      return envelope("thread_id", {});
    case "status":
      return envelope("status", data);
    case "error":
      return data.terminal ? envelope("error", { message: data.message }) : null;
    case "session_end":
      if (data.status === "completed") return envelope("done", {});
      return data.status === "cancelled" ? envelope("error", STOPPED) : null;
    default:
      return null;
  }
}
