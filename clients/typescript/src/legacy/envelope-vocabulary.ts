import { isObject } from "../events/read-event.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";
import {
  argumentsOf,
  custom,
  event,
  type Fields,
  first,
  hiddenError,
  metadataOf,
  present,
  sessionEnd,
  textOf,
  toolEnd,
  without,
} from "./fields.js";

/** Names of a node that mean that there is no node. */
const NO_NODE = ["", "system", "unknown"];
const ENVELOPE = ["type", "thread_id", "run_id", "node_name", "timestamp", "tags", "trace_id", "observation_id"];
const STATES: Readonly<Record<string, string>> = {
  connected: "connected",
  resumed: "resumed",
  started: "started",
  running: "running",
  completed: "finished",
  finished: "finished",
  failed: "failed",
  error: "failed",
  interrupted: "suspended",
  suspended: "suspended",
};
const STOPPED = ["stopped", "cancelled", "canceled"];
const STOP_TEXTS = ["stream stopped", "stopped by user", "request cancelled by user"];
const FAILED = ["error", "errored", "failed", "failure"];
const NODES: Readonly<Record<string, string>> = { node_start: "started", node_end: "finished" };

/** Whether a message is one of the LangGraph envelope, new or flat. */
export function isEnvelopeMessage(message: Fields): boolean {
  const { type } = message;
  const has = (...names: string[]) => names.every((name) => Object.hasOwn(message, name));
  if (message.stopped === true && (type === undefined || type === "content")) return true;
  if (has("run_id", "node_name") || (isObject(message.data) && has("thread_id"))) return KINDS.includes(String(type));
  switch (type) {
    case "content":
      return has("content", "thread_id");
    case "tool_start":
    case "tool_end":
      return has("tool_name") || isObject(message.data);
    case "done":
    case "error":
    case "thread_id":
      return has("thread_id");
    case "status":
      return has("status", "thread_id");
    default:
      return GRAPH.includes(String(type)) && isObject(message.data);
  }
}

const GRAPH = ["interrupt", "node_start", "node_end"];
const KINDS = "content tool_start tool_end error done status thread_id stopped interrupt node_start node_end".split(
  " ",
);

/** The events of a message of the envelope, with its fields in `data` or beside the type. */
export function readEnvelope(message: Fields): StreamEvent[] {
  const nested = isObject(message.data) ? message.data : {};
  const flat = present(without(message, ...ENVELOPE, ...(isObject(message.data) ? ["data"] : [])));
  const fields: Fields = { ...flat, ...nested };
  const metadata = metadataIn(message, fields);
  const read = readKind(String(message.type ?? ""), fields, metadata, message);
  const isStopped = message.stopped === true || nested.stopped === true;
  if (!isStopped) return read;
  return [...read.filter(({ type }) => type !== "session_end"), sessionEnd("cancelled", metadata)];
}

function metadataIn(message: Fields, fields: Fields): EventMetadata {
  const names = [textOf(message.node_name), textOf(fields.node_name)];
  const node = names.find((name) => !NO_NODE.includes(name));
  const thread = textOf(message.thread_id) || textOf(fields.thread_id);
  const metadata = metadataOf({
    timestamp: message.timestamp,
    thread_id: thread,
    run_id: message.run_id,
    node_name: node,
  });
  const { timestamp } = metadata;
  return timestamp === undefined ? metadata : { ...metadata, upstream_time: timestamp };
}

function readKind(kind: string, fields: Fields, metadata: EventMetadata, message: Fields): StreamEvent[] {
  const run = textOf(message.run_id);
  switch (kind) {
    case "content": {
      const content = textOf(first(fields, "delta", "content", "text", "token", "data"));
      if (content) return [event("content", { content }, { ...metadata, ...(run && { message_id: run }) })];
      return Object.keys(present(fields)).length ? [custom(kind, fields, metadata)] : [];
    }
    case "tool_start": {
      const tool_name = textOf(first(fields, "tool_name", "tool", "name")) || "unknown";
      const input = first(fields, "tool_input", "input", "arguments", "args");
      return [event("tool_call_start", { tool_id: run, tool_name, arguments: argumentsOf(input) }, metadata)];
    }
    case "tool_end": {
      const failed = FAILED.includes(textOf(fields.status).toLowerCase());
      const result = first(fields, "tool_output", "output", "result");
      const { code } = isObject(fields.error) ? fields.error : ({} as Fields);
      return [toolEnd({ tool_id: run, failed, result, code }, { ...metadata, ...durationIn(fields) })];
    }
    case "node_start":
    case "node_end":
      return [node(kind, fields, metadata)];
    case "status": {
      const word = textOf(fields.status ?? fields.stage).toLowerCase();
      const detail = without(fields, "status", "thread_id", "node_name");
      const about = Object.keys(detail).length ? { detail } : {};
      return [
        event(
          "status",
          { scope: "session", state: (Object.hasOwn(STATES, word) && STATES[word]) || "running", ...about },
          metadata,
        ),
      ];
    }
    case "thread_id":
      return [event("session_start", { protocol: "1.1" }, metadata)];
    case "interrupt":
      return [interrupt(fields, metadata, run), sessionEnd("suspended", metadata)];
    case "error":
      return [error(fields, metadata)];
    case "done":
      return [sessionEnd("completed", metadata)];
    case "":
    case "stopped":
      return [sessionEnd("cancelled", metadata)];
    default:
      return [custom(kind, fields, metadata)];
  }
}

const durationIn = ({ duration }: Fields): EventMetadata =>
  typeof duration === "number" ? { duration_ms: Math.round(duration) } : {};

function node(kind: string, fields: Fields, metadata: EventMetadata): StreamEvent {
  const failed = kind === "node_end" && FAILED.includes(textOf(fields.status).toLowerCase());
  const name = textOf(first(fields, "node_label", "node_name") ?? metadata.node_name);
  const node_id = textOf(fields.node_id);
  return event(
    "status",
    { scope: "node", state: failed ? "failed" : NODES[kind], ...(name && { name }) },
    { ...metadata, ...(node_id && { node_id }), ...durationIn(fields) },
  );
}

/** A question for approval. `resume` is the body that a page posts: the thread, a command, and the state. */
function interrupt(fields: Fields, metadata: EventMetadata, run: string): StreamEvent {
  const { state } = fields;
  const name = metadata.node_name ?? "";
  const thread_id = metadata.thread_id ?? "";
  const command = name ? { update: {}, goto: name } : { update: {} };
  const title = textOf(fields.node_label);
  const description = textOf(first(fields, "message", "reason")) || questionIn(state);
  return event(
    "interaction",
    {
      interaction_id: run || name || thread_id || "interrupt",
      kind: "approval",
      state: "requested",
      ...(title && { title }),
      ...(description && { description }),
      resume: { thread_id, command, state: state ?? null },
    },
    metadata,
  );
}

/** The question in plain words: of LangGraph's first interrupt, or of the state. */
function questionIn(state: unknown): string {
  if (!isObject(state)) return "";
  const interrupts = state.interrupts ?? state.__interrupt__;
  const one: unknown = Array.isArray(interrupts) ? interrupts[0] : null;
  const value = isObject(one) ? (one.value ?? one) : one;
  const texts = [value, state].flatMap((holder) => (isObject(holder) ? [holder.question, holder.message] : [holder]));
  return texts.find((text): text is string => typeof text === "string" && text.trim() !== "") ?? "";
}

function error(given: Fields, metadata: EventMetadata): StreamEvent {
  const fields = isObject(given.error) ? { ...given, ...given.error } : given;
  const text = textOf(first(fields, "message", "error", "error_message", "detail"))
    .trim()
    .replace(/\.$/, "");
  const isStop = STOPPED.includes(textOf(fields.code).toLowerCase()) || STOP_TEXTS.includes(text.toLowerCase());
  const { upstream_time: _, ...ids } = metadata;
  return isStop ? sessionEnd("cancelled", metadata) : hiddenError(fields.code, true, ids);
}
