import type { Normalizer } from "../events/event-reader.js";
import type { EventType } from "../events/event-types.js";
import { parseStreamLine } from "../events/parse-stream-line.js";
import { isObject, REASONS } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import { DATA_FORMULATOR } from "./data-formulator.js";
import { custom, type Draft, type Drafts, event, sessionEnd, toolStart } from "./drafts.js";
import { readEnvelope } from "./envelope-vocabulary.js";
import { type Fields, fieldsOf, idsOf, isOneOf, rounded, TOOL, textIn, textOf, timeOf, without } from "./fields.js";
import { OLD } from "./old-vocabulary.js";

/** The types of standard events. */
const STANDARD =
  /^((session|tool_call)_(start|delta|progress|end)|thinking|content|data|reference|status|warning|interaction|error)$/;

const hasStandardType = ({ type, data }: Fields): boolean => STANDARD.test(String(type)) && isObject(data);

/** Whether a message has the shape of the standard: shape, not name, tells it from older vocabularies. */
export const isStandard = (message: unknown): boolean =>
  isObject(message) && isObject(message.metadata) && hasStandardType(message);

/**
 * The standard events that one message of an old vocabulary means, an object or a line, with the ids that it carries.
 * No state is kept from call to call; `[]` for a message without meaning. Texts of errors that were not written for
 * users stay out.
 */
export const normalizeStreamEvent = (message: unknown): StreamEvent[] =>
  read(message, "", () => 1) as unknown as StreamEvent[];

function read(given: unknown, eventName: string, thought: () => number): Draft[] {
  const message = typeof given === "string" ? (parseStreamLine(given) ?? bareText(given, eventName)) : given;
  if (message == null) return [];
  if (!isObject(message)) return [custom("message", message)];
  if (isStandard(message)) return [message as unknown as Draft];
  const fields = fieldsOf(message);
  const type = textOf(message.type ?? eventName) ?? (message.error ? "error" : "");
  const stamp = {
    request_id: typeof fields.request_id === "string" ? fields.request_id : null,
    sequence: rounded(fields.sequence),
    timestamp: timeOf(fields.timestamp) ?? timeOf(fields.created_at),
  };
  return [readTyped(fields, type, eventName ? { ...message, type } : message, thought)]
    .flat(2)
    .map(({ type, data, metadata }) => event(type, data, { ...stamp, ...metadata }));
}

function readTyped(fields: Fields, type: string, message: Fields, thought: () => number): NonNullable<Drafts> {
  const ids = idsOf(fields);
  /** The event of a thought, which is one message. */
  const think = (text: unknown): Draft[] =>
    text ? [event("thinking", { content: textOf(text) }, { message_id: `thought_${thought()}` })] : [];
  const standard = hasStandardType(message) ? event(type as EventType, message.data as Fields) : null;
  return (
    DATA_FORMULATOR[type]?.(message, think) ??
    (typeof standard?.data.content === "string" && isOneOf(type, "content thinking") && Object.keys(message).length < 3
      ? standard
      : readEnvelope(fields, ids, type, message)) ??
    OLD[type]?.(fields, ids, type, message) ??
    standard ??
    custom(type || "message", without(message, "type"), ids)
  );
}

/** Bare text behind an event name of the old vocabulary: some servers send no JSON. */
const bareText = (content: string, type: string): Fields | null => (OLD[type] ? { type, content } : null);

export interface NormalizerOptions {
  /** The backend sends no end: a body that ends properly after an event is complete. */
  endsAtEof?: boolean | undefined;
}

/**
 * Reads one stream of an old vocabulary: calls without ids get some and are paired by name and order, and a whole answer
 * that repeats its pieces is not shown twice.
 */
export function createNormalizer({ endsAtEof }: NormalizerOptions = {}): Normalizer {
  /** The open calls: the last row of them first, each row in the order of its starts. */
  let open: Fields[] = [];
  /** The number of calls of the row that has no other event behind it yet. */
  let row = 0;
  let calls = 0;
  let thoughts = 0;
  /** The answer so far, and its part since the last call. */
  let all = "";
  let segment = "";
  /** The body may end here. */
  let isComplete: unknown = false;
  let isOver = false;
  let hasFailed = false;

  const startCall = (start: Draft): Draft => {
    calls += 1;
    const tool_id = start.data.tool_id || `call_${calls}`;
    const started = changed(start, { tool_id });
    open.splice(row++, 0, started.data);
    return started;
  };

  /** Closes the call with the id of the end; without an id, the first one with its name, else the first one, else a new one. */
  const endCall = (end: Draft, name: string | null): Draft[] => {
    const { tool_id } = end.data;
    const start = tool_id || open.length ? [] : [startCall(toolStart({ name }, null))];
    const call = tool_id
      ? open.find((call) => call.tool_id === tool_id)
      : (open.find(({ tool_name }) => tool_name === name) ?? open[0]);
    open = open.filter((other) => other !== call);
    return [...start, changed(end, { tool_id: tool_id || call?.tool_id })];
  };

  const addText = (piece: Draft, isRepeat: boolean): Draft => {
    const event = isRepeat ? changed(piece, onlyNew(String(piece.data.content), all, segment)) : piece;
    if (event.data.op === "replace") all = segment = "";
    all += event.data.content;
    segment += event.data.content;
    return event;
  };

  const follow = (event: Draft, message: unknown): Draft | Draft[] => {
    const { type, data } = event;
    if (/^tool/.test(type)) segment = "";
    if (type === "tool_call_start") return startCall(event);
    row = 0;
    if (type === "tool_call_end") return endCall(event, textIn(fieldsOf(message as Fields), TOOL));
    if (type === "content" && data.channel === undefined)
      return addText(event, data.is_complete === true && !isStandard(message));
    hasFailed ||= type === "error" && data.terminal === true;
    isOver ||= type === "session_end";
    return isOver && hasFailed ? changed(event, { status: "error", reason: REASONS.error }) : event;
  };

  const normalize: Normalizer = (message, eventName = "") => {
    const events = read(message, eventName, () => ++thoughts);
    const type = (isObject(message) && message.type) || eventName;
    if (events.some(({ type }) => !/^(status|warning)$/.test(type))) isComplete = endsAtEof || type === "final_answer";
    return events.flatMap((event) => follow(event, message)) as unknown as StreamEvent[];
  };
  normalize.close = () => {
    const isEnd = isComplete && !isOver && !hasFailed;
    isOver = true;
    return (isEnd ? [sessionEnd("completed")] : []) as unknown as StreamEvent[];
  };
  return normalize;
}

const changed = (event: Draft, changes: Fields): Draft => ({ ...event, data: { ...event.data, ...changes } });

const plain = (text: string): string => text.trim().normalize("NFC");

/** The part of a whole answer that is new after the pieces before it: `all` of them, and those since the last call. */
function onlyNew(content: string, all: string, segment: string): Fields {
  if (!content || !all) return {};
  if ([all, segment].map(plain).includes(plain(content))) return { content: "" };
  const known = [all, segment].find((text) => content.startsWith(text));
  if (known) return { content: content.slice(known.length) };
  return !segment && !content.startsWith(all.slice(0, all.length / 2 + 1)) ? {} : { op: "replace" };
}
