import { failureFields } from "../events/codes.js";
import type { Normalizer } from "../events/event-reader.js";
import type { EventOf, EventType } from "../events/event-types.js";
import { parseStreamLine } from "../events/parse-stream-line.js";
import { isObject } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import { readDataFormulator } from "./data-formulator.js";
import { readEnvelope } from "./envelope-vocabulary.js";
import {
  custom,
  event,
  type Fields,
  fieldsOf,
  filled,
  idsOf,
  rounded,
  sessionEnd,
  textIn,
  textOf,
  timeOf,
  toolIn,
  toolStart,
  without,
} from "./fields.js";
import { readOld } from "./old-vocabulary.js";

/** The types of standard events. */
const STANDARD =
  /^(session_(start|end)|tool_call_(start|delta|progress|end)|thinking|content|data|reference|status|warning|interaction|error)$/;

const hasStandardType = ({ type, data }: Fields): boolean => STANDARD.test(textOf(type)) && isObject(data);

/** Whether a message has the shape of the standard: shape, not name, tells it from older vocabularies. */
export const isStandard = (message: unknown): boolean =>
  isObject(message) && isObject(message.metadata) && hasStandardType(message);

/**
 * The standard events that one message of an old vocabulary means, an object or a line, with the ids that it carries.
 * No state is kept from call to call; `[]` for a message without meaning. Texts of errors that were not written for
 * users stay out.
 */
export function normalizeStreamEvent(message: unknown): StreamEvent[] {
  return read(message, undefined, () => 1);
}

function read(given: unknown, eventName: string | undefined, thought: () => number): StreamEvent[] {
  const message = typeof given === "string" ? (parseStreamLine(given) ?? bareText(given, eventName)) : given;
  if (message == null) return [];
  if (!isObject(message)) return [custom("message", message)];
  if (isStandard(message)) return [message as unknown as StreamEvent];
  const type = textOf(message.type ?? eventName) || (message.error ? "error" : "");
  const fields = fieldsOf(message);
  const stamp = {
    request_id: textIn(fields, "request_id") || null,
    sequence: rounded(fields.sequence),
    timestamp: timeOf(fields.timestamp) ?? timeOf(fields.created_at),
  };
  return readTyped({ ...message, type }, type, thought).map(({ type, data, metadata }) =>
    event(type, data as unknown as Fields, { ...stamp, ...metadata }),
  );
}

/** Whether a message is a standard piece of text of which only the metadata is missing. */
function isBareText({ type, data, ...others }: Fields): boolean {
  if (!/^(content|thinking)$/.test(textOf(type)) || !isObject(data) || filled(others)) return false;
  const isKnown = (name: string) => /^(content|channel|format|op|is_complete|stage|opaque)$/.test(name);
  return typeof data.content === "string" && Object.keys(data).every(isKnown);
}

function readTyped(message: Fields, type: string, thought: () => number): StreamEvent[] {
  const standard = () => (hasStandardType(message) ? [event(type as EventType, message.data as Fields)] : null);
  return (
    readDataFormulator(message, type, thought) ??
    (isBareText(message) ? standard() : readEnvelope(message, type)) ??
    readOld(message, type) ??
    standard() ?? [custom(type || "message", without(message, ["type"]), idsOf(fieldsOf(message)))]
  );
}

/** Bare text behind an event name of the old vocabulary: some servers send no JSON. */
const bareText = (content: string, type: string | undefined): Fields | null =>
  type !== undefined && readOld({ type, content }, type) ? { type, content } : null;

export interface NormalizerOptions {
  /** The backend sends no end: a body that ends properly after an event is complete. */
  endsAtEof?: boolean | undefined;
}

interface OpenCall {
  tool_id: string;
  name: string;
  /** Calls that were opened with nothing but calls between them. */
  batch: number;
}

/**
 * Reads one stream of an old vocabulary: calls without ids get some and are paired by name and order, and a whole answer
 * that repeats its pieces is not shown twice.
 */
export function createNormalizer(options: NormalizerOptions = {}): Normalizer {
  const open: OpenCall[] = [];
  let calls = 0;
  let batch = 0;
  let thoughts = 0;
  /** The answer so far, and its part since the last call. */
  let all = "";
  let segment = "";
  let hasBegun = false;
  let isAnswered = false;
  let isOver = false;
  let failure: EventOf<"error"> | null = null;

  const startCall = (start: EventOf<"tool_call_start">): StreamEvent => {
    calls += 1;
    const tool_id = start.data.tool_id || `call_${calls}`;
    open.push({ tool_id, name: start.data.tool_name, batch });
    return { ...start, data: { ...start.data, tool_id } };
  };

  /** Closes the call with the id of the end; without an id, the one that `placeOf` finds, or a new one. */
  const endCall = (end: EventOf<"tool_call_end">, name: string): StreamEvent[] => {
    const given = end.data.tool_id;
    const index = given ? open.findIndex(({ tool_id }) => tool_id === given) : placeOf(open, name);
    const start = index < 0 && !given ? [startCall(toolStart({ name }, "", {}) as EventOf<"tool_call_start">)] : [];
    const [known] = index < 0 && given ? [] : open.splice(index, 1);
    return [...start, { ...end, data: { ...end.data, tool_id: known?.tool_id ?? given } }];
  };

  const addText = (piece: EventOf<"content">, isRepeat: boolean): StreamEvent => {
    if (piece.data.channel !== undefined) return piece;
    const data = isRepeat ? { ...piece.data, ...onlyNew(piece.data.content, all, segment) } : piece.data;
    if (data.op === "replace") all = segment = "";
    all += data.content;
    segment += data.content;
    return { ...piece, data };
  };

  const follow = (event: StreamEvent, message: unknown): StreamEvent[] => {
    if (event.type !== "tool_call_start") batch += 1;
    switch (event.type) {
      case "content":
        return [addText(event, event.data.is_complete === true && !isStandard(message))];
      case "tool_call_start":
        segment = "";
        return [startCall(event)];
      case "tool_call_end":
        segment = "";
        return endCall(event, isObject(message) ? toolIn(fieldsOf(message)) : "");
      case "error":
        if (event.data.terminal) failure = event;
        return [event];
      case "session_end":
        isOver = true;
        return [failure ? failedEnd(event, failure) : event];
      default:
        return [event];
    }
  };

  const normalize: Normalizer = (message, eventName) => {
    const events = read(message, eventName, () => ++thoughts);
    hasBegun ||= events.length > 0;
    const type = (isObject(message) && message.type) || eventName;
    if (events.some(({ type }) => type !== "status" && type !== "warning")) isAnswered = type === "final_answer";
    return events.flatMap((event) => follow(event, message));
  };
  normalize.close = () => {
    if (isOver || failure || !(isAnswered || (options.endsAtEof && hasBegun))) return [];
    isOver = true;
    return [sessionEnd("completed")];
  };
  return normalize;
}

const failedEnd = (end: EventOf<"session_end">, { data }: EventOf<"error">): StreamEvent => ({
  ...end,
  data: { ...end.data, status: "error", reason: failureFields(data.code).reason },
});

/**
 * Which open call an end without an id belongs to: of those with its name that were opened one behind the other the
 * first, else the last with its name, else the last of all.
 */
function placeOf(open: OpenCall[], name: string): number {
  const isNamed = (call: OpenCall) => call.name === name;
  const last = open.map(isNamed).lastIndexOf(true);
  if (last < 0) return open.length - 1;
  const isOneBatch = open.every((call) => !isNamed(call) || call.batch === open[last]?.batch);
  return isOneBatch ? open.findIndex(isNamed) : last;
}

const plain = (text: string): string => text.trim().normalize("NFC");

/** The part of a whole answer that is new after the pieces before it: `all` of them, and those since the last call. */
function onlyNew(whole: string, all: string, segment: string): { content: string; op?: "replace" } {
  if (!whole || !all) return { content: whole };
  if ([all, segment].map(plain).includes(plain(whole))) return { content: "" };
  const known = [all, segment].find((text) => whole.startsWith(text)) as string | undefined;
  if (known) return { content: whole.slice(known.length) };
  if (!segment && !whole.startsWith(all.slice(0, all.length / 2 + 1))) return { content: whole };
  return { content: whole, op: "replace" };
}
