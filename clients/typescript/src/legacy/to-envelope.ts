import { isObject, readEvent } from "../events/read-event.js";
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
  if (!isObject(event)) return null;
  if (isStandard(event)) return ofStandard(readEvent(event) as StreamEvent);
  if (event.data !== undefined && event.run_id !== undefined) return event as unknown as StreamEventEnvelope;
  return ofFlat(event);
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function ofFlat(event: Record<string, any>): StreamEventEnvelope | null {
  const envelope = (type: StreamEventEnvelope["type"], node: string, data: unknown): StreamEventEnvelope => ({
    type,
    node_name: event.node_name || node,
    run_id: event.run_id || "",
    timestamp: event.timestamp || Date.now(),
    thread_id: event.thread_id || "",
    data,
  });
  const last = (type: "error" | "done", data: unknown): StreamEventEnvelope => ({
    ...envelope(type, "system", data),
    node_name: "system",
    run_id: "",
    timestamp: Date.now(),
  });
  if (event.type === "content" && event.content !== undefined)
    return envelope("content", "unknown", { delta: event.content });
  if (event.type === "tool_start") {
    return envelope("tool_start", "unknown", { tool_name: event.tool_name, tool_input: event.tool_input });
  }
  if (event.type === "tool_end") {
    return envelope("tool_end", "unknown", { tool_name: event.tool_name, tool_output: event.tool_output });
  }
  if (event.type === "error") return envelope("error", "system", { message: event.error || "Unknown error" });
  if (event.stopped) return last("error", { message: "Stream stopped" });
  return event.done || event.type === "done" ? last("done", {}) : null;
}

/** The names of the last calls by id: the end of a standard call has its id alone, and such pages pair by name. */
const names = new Map<string, string>();
const MOST_NAMES = 200;

function noteName(id: string, name: string): void {
  names.set(id, name);
  const [oldest] = names.keys();
  if (names.size > MOST_NAMES && oldest !== undefined) names.delete(oldest);
}

function ofStandard(event: StreamEvent): StreamEventEnvelope | null {
  const { run_id, node_name, thread_id, timestamp, upstream_time } = event.metadata;
  const envelope = (type: StreamEventEnvelope["type"], data: unknown, node = "system", run = run_id) => ({
    type,
    node_name: node_name || node,
    run_id: run ?? "",
    timestamp: upstream_time ?? timestamp ?? Date.now(),
    thread_id: thread_id ?? "",
    data,
  });
  switch (event.type) {
    case "content":
      if (!event.data.content || event.data.channel !== undefined) return null;
      return envelope("content", { delta: event.data.content }, "unknown");
    case "tool_call_start": {
      const { tool_id, tool_name, arguments: tool_input } = event.data;
      noteName(tool_id, tool_name);
      return envelope("tool_start", { tool_name, tool_input }, "unknown", tool_id);
    }
    case "tool_call_end": {
      const { tool_id, status, result, error } = event.data;
      const tool_name = names.get(tool_id) ?? "unknown";
      const tool_output = status === "failed" ? error?.message : result;
      return envelope("tool_end", { tool_name, tool_output }, "unknown", tool_id);
    }
    case "session_start":
      return envelope("thread_id", {});
    case "status":
      return envelope("status", event.data);
    case "error":
      return event.data.terminal ? envelope("error", { message: event.data.message }) : null;
    case "session_end":
      if (event.data.status === "completed") return envelope("done", {});
      return event.data.status === "cancelled" ? envelope("error", { message: "Stream stopped" }) : null;
    default:
      return null;
  }
}
