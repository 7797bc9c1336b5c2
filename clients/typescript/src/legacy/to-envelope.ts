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

/** The names of the last calls by id: the end of a standard call has its id alone, and such pages pair by name. */
const names = new Map<string, string>();
const MOST_NAMES = 200;
const STOPPED = "Stream stopped";

/** Tests exactly what the document tests, so that a page changes only its import. */
// biome-ignore lint/suspicious/noExplicitAny: an event may hold anything
export function toEnvelope(event: any): StreamEventEnvelope | null {
  if (typeof event !== "object" || !event) return null;
  const isNew = isStandard(event);
  const { type, data, metadata, content } = event;
  if (!isNew && data !== undefined && event.run_id !== undefined) return event;
  const call = isNew ? data : event;
  const { tool_id, tool_name = names.get(tool_id) } = call;
  const { node_name, run_id, timestamp, thread_id } = isNew
    ? {
        ...metadata,
        timestamp: metadata.upstream_time ?? metadata.timestamp,
        ...(/^tool/.test(type) && { run_id: tool_id }),
      }
    : event;

  const envelope = (type: StreamEventEnvelope["type"], data: unknown, node = "system"): StreamEventEnvelope => ({
    type,
    node_name: node_name || node,
    run_id: run_id || "",
    timestamp: timestamp || Date.now(),
    thread_id: thread_id || "",
    data,
  });
  const failed = (message: unknown) => envelope("error", { message });
  const toolStart = (tool_input: unknown) => envelope("tool_start", { tool_name, tool_input }, "unknown");
  const toolEnd = (tool_output: unknown) => envelope("tool_end", { tool_name, tool_output }, "unknown");
  const text = (delta: unknown) => envelope("content", { delta }, "unknown");

  if (!isNew) {
    if (type === "content" && content !== undefined) return text(content);
    if (type === "tool_start") return toolStart(event.tool_input);
    if (type === "tool_end") return toolEnd(event.tool_output);
    if (type === "error") return failed(event.error || "Unknown error");
    const whole = { node_name: "system", run_id: "", timestamp: Date.now() };
    if (event.stopped) return { ...failed(STOPPED), ...whole };
    return event.done || type === "done" ? { ...envelope("done", {}), ...whole } : null;
  }
  if (type === "content") return data.content && data.channel == null ? text(data.content) : null;
  if (type === "tool_call_start") {
    if (names.size >= MOST_NAMES) names.clear();
    names.set(tool_id, tool_name);
    return toolStart(data.arguments ?? {});
  }
  if (type === "tool_call_end") return toolEnd(data.status === "failed" ? data.error?.message : data.result);
  if (type === "session_start") return envelope("thread_id", {});
  if (type === "status") return envelope(type, data);
  if (type === "error") return data.terminal ? failed(data.message) : null;
  if (type !== "session_end" || !/^c/.test(data.status)) return null;
  return data.status === "completed" ? envelope("done", {}) : failed(STOPPED);
}
