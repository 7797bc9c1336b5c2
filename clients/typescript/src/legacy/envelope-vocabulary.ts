import { isObject } from "../events/read-event.js";
import {
  custom,
  type Draft,
  type Drafts,
  event,
  hasFailed,
  type Reader,
  type Readers,
  readEnd,
  readError,
  readText,
  readToolEnd,
  sessionEnd,
  toolStart,
} from "./drafts.js";
import { BOOKKEEPING, type Fields, filled, isOneOf, textIn, textOf, timeOf, without } from "./fields.js";

const ENVELOPE: Readers = {
  __proto__: null as never,
  content: (fields, ids, ...others) => {
    const text = readText(fields, { ...ids, message_id: ids.run_id }, ...others) as Draft;
    return text.data.content === "" ? [] : text;
  },
  tool_start: (fields, ids) => toolStart(fields, ids.run_id, ids),
  tool_end: (fields, ids) => readToolEnd(fields, ids.run_id, ids),
  node_start: (fields, ids) => node("started", fields, ids),
  node_end: (fields, ids) => node(hasFailed(fields) ? "failed" : "finished", fields, ids),
  status: ({ status, ...others }, ids) => {
    const word = String(status).toLowerCase();
    const state = { completed: "finished", error: "failed", interrupted: "suspended" }[word] ?? word;
    const isKnown = isOneOf(state, "connected resumed started running finished failed suspended");
    const detail = filled(without(isKnown ? others : { status, ...others }, BOOKKEEPING));
    return event("status", { scope: "session", state: isKnown ? state : "running", detail }, ids);
  },
  thread_id: (_, ids) => event("session_start", { protocol: "1.1" }, ids),
  interrupt: (fields, ids) => [interaction(fields, ids), sessionEnd("suspended", ids)],
  error: readError,
  done: readEnd,
};

/** Whether a message is one of the envelope, with `data` or flat. Its type and the envelope's own fields decide. */
function isEnvelope({ data, run_id, node_name, thread_id, tool_name, stopped }: Fields, type: string): boolean {
  const isKnown = type in ENVELOPE;
  if (run_id !== undefined && node_name !== undefined && (isKnown || isObject(data))) return true;
  if (!isKnown) return !type && stopped !== undefined;
  return /^(tool|node|int)/.test(type)
    ? isObject(data) || (type[0] === "t" && tool_name !== undefined)
    : (thread_id ?? stopped) !== undefined;
}

/** The events of a message of the envelope, with its fields in `data` or beside the type; null for any other. */
export function readEnvelope(...[fields, given, named, message]: Parameters<Reader>): Drafts {
  if (!isEnvelope(message, named)) return null;
  const type = named || (fields.content ? "content" : "message");
  const { data, timestamp, node_name } = message;
  const inner = isObject(data) ? data : message;
  const ids = {
    ...given,
    thread_id: textOf(fields.thread_id),
    run_id: textOf(message.run_id),
    node_name: [textOf(node_name), textOf(inner.node_name)].find((name) => name && !isOneOf(name, "system unknown")),
    upstream_time: timeOf(timestamp),
  };
  const isStopped = fields.stopped === true && isOneOf(type, "content status message done error");
  const events =
    isStopped && !/^[cs]/.test(type)
      ? []
      : (ENVELOPE[type]?.(without({ ...fields, ...inner }, isStopped ? "stopped" : ""), ids, type, message) ??
        custom(type, without(inner, BOOKKEEPING), ids));
  return isStopped ? [events as Draft, sessionEnd("cancelled", ids)] : events;
}

const node = (state: string, fields: Fields, ids: Fields): Draft =>
  event("status", { scope: "node", state, name: textIn(fields, "node_label") ?? ids.node_name }, ids);

/** A question for approval. `resume` is the body that a page posts: the thread, a command, and the state. */
function interaction({ state = null, ...fields }: Fields, ids: Fields): Draft {
  const { thread_id, run_id, node_name } = ids;
  const data = {
    interaction_id: run_id ?? node_name ?? thread_id ?? "interrupt",
    kind: "approval",
    state: "requested",
    title: textIn(fields, "node_label"),
    description: textIn(fields, "message reason") ?? questionIn(state),
    resume: { thread_id: thread_id ?? "", command: { update: {}, goto: node_name }, state },
  };
  return event("interaction", data, ids);
}

/** The question in plain words: of LangGraph's first interrupt, or of the state. */
function questionIn(state: unknown): unknown {
  if (!isObject(state)) return null;
  const interrupts = state.interrupts ?? state.__interrupt__;
  const one: unknown = Array.isArray(interrupts) ? interrupts[0] : null;
  const value = isObject(one) ? (one.value ?? one) : one;
  const texts = [value, state].flatMap((holder) => (isObject(holder) ? [holder.question, holder.message] : [holder]));
  return texts.find((text) => typeof text === "string" && text.trim());
}
