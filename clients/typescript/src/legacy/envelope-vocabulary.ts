import { isObject } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import {
  errorEvent,
  event,
  type Fields,
  fieldsOf,
  first,
  othersOf,
  rounded,
  sessionEnd,
  textEvent,
  textIn,
  textOf,
  timeOf,
  toolEnd,
  toolStart,
  without,
} from "./fields.js";

const FAILED = /^(error(ed)?|fail(ed|ure))$/i;
const STATES: Fields = { completed: "finished", error: "failed", interrupted: "suspended" };
const STATE = /^(connected|resumed|started|running|finished|failed|suspended)$/;
const STOPPED = /^(stopped|cancell?ed)$/i;
const STOP_TEXT = /^\s*(stream stopped|stopped by user|request cancelled by user)\.?\s*$/i;

type Reader = (fields: Fields, ids: Fields) => StreamEvent[];

const READERS: Readonly<Record<string, Reader>> = {
  content: (fields, ids) => textEvent("content", fields, { ...ids, message_id: ids.run_id }),
  tool_start: (fields, ids) => [toolStart(fields, textOf(ids.run_id), ids)],
  tool_end: (fields, ids) => {
    const { code = null } = isObject(fields.error) ? fields.error : {};
    const result = first(fields, "tool_output", "output", "result");
    return [toolEnd(textOf(ids.run_id), hasFailed(fields), result, timed(fields, ids), code)];
  },
  node_start: (fields, ids) => [node("started", fields, ids)],
  node_end: (fields, ids) => [node(hasFailed(fields) ? "failed" : "finished", fields, ids)],
  status: (fields, ids) => [status(fields, ids)],
  thread_id: (_, ids) => [event("session_start", { protocol: "1.1" }, ids)],
  interrupt: (fields, ids) => [interrupt(fields, ids), sessionEnd("suspended", ids)],
  error: (fields, ids) => [error(fields, ids)],
  done: (_, ids) => [sessionEnd("completed", ids)],
};

/** Whether a message is one of the envelope, with `data` or flat. Its type and the envelope's own fields decide. */
function isEnvelope(message: Fields, type: string): boolean {
  const { data, run_id, node_name, thread_id, tool_name, stopped } = message;
  if (stopped === true && !type) return true;
  if (!Object.hasOwn(READERS, type)) return false;
  if (run_id !== undefined && node_name !== undefined) return true;
  if (/^(tool|node|interrupt)/.test(type)) return isObject(data) || tool_name !== undefined;
  return thread_id !== undefined || stopped === true;
}

/** The events of a message of the envelope, with its fields in `data` or beside the type; null for any other. */
export function readEnvelope(message: Fields, type: string): StreamEvent[] | null {
  if (!isEnvelope(message, type)) return null;
  const top = fieldsOf(message);
  const { stopped, ...fields }: Fields = isObject(message.data) ? { ...top, ...message.data } : top;
  const names = [top, fields].map((place) => textIn(place, "node_name"));
  const node_name = names.find((name) => !/^(system|unknown)?$/.test(name));
  const ids = {
    thread_id: textIn(top, "thread_id") || null,
    run_id: textIn(message, "run_id") || null,
    node_name,
    upstream_time: timeOf(message.timestamp),
  };
  const events = type || fields.content ? (READERS[type || "content"]?.(fields, ids) ?? []) : [];
  if (stopped !== true) return events;
  return [...events.filter(({ type }) => type !== "session_end"), sessionEnd("cancelled", ids)];
}

const hasFailed = ({ status }: Fields): boolean => FAILED.test(textOf(status));
const timed = ({ duration }: Fields, ids: Fields): Fields => ({ ...ids, duration_ms: rounded(duration) });

function node(state: string, fields: Fields, ids: Fields): StreamEvent {
  const name = textIn(fields, "node_label") || ids.node_name;
  return event("status", { scope: "node", state, name }, { ...timed(fields, ids), node_id: fields.node_id });
}

function status({ status, ...others }: Fields, ids: Fields): StreamEvent {
  const word = textOf(status).toLowerCase();
  const state = textOf(STATES[word] ?? word);
  const isKnown = STATE.test(state);
  const detail = othersOf(isKnown ? others : { status, ...others });
  return event("status", { scope: "session", state: isKnown ? state : "running", detail }, ids);
}

/** A question for approval. `resume` is the body that a page posts: the thread, a command, and the state. */
function interrupt({ state = null, ...fields }: Fields, ids: Fields): StreamEvent {
  const { thread_id = "", run_id, node_name } = without(ids);
  const data = {
    interaction_id: run_id || node_name || thread_id || "interrupt",
    kind: "approval",
    state: "requested",
    title: textIn(fields, "node_label") || null,
    description: textIn(fields, "message", "reason") || questionIn(state),
    resume: { thread_id, command: { update: {}, ...(node_name ? { goto: node_name } : {}) }, state },
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

/** An error; a cancelled end if the error is the stop that these servers report as an error. */
function error(given: Fields, ids: Fields): StreamEvent {
  const fields = isObject(given.error) ? { ...given, ...given.error } : given;
  const code = first(fields, "error_code", "code");
  const text = textIn(fields, "message", "error", "error_message", "detail");
  if (STOPPED.test(textOf(code)) || STOP_TEXT.test(text)) return sessionEnd("cancelled", ids);
  return errorEvent(code, {}, { ...ids, upstream_time: null });
}
