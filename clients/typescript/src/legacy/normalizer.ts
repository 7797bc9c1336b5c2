import { failureFields } from "../events/codes.js";
import type { Normalizer } from "../events/event-reader.js";
import type { EventOf } from "../events/event-types.js";
import { parseStreamLine } from "../events/parse-stream-line.js";
import { isObject, readEvent } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import { isDataFormulator, readDataFormulator } from "./data-formulator.js";
import { isEnvelopeMessage, readEnvelope } from "./envelope-vocabulary.js";
import { custom, event, type Fields, first, sessionEnd, textOf } from "./fields.js";
import { aliasOf, readOld } from "./old-vocabulary.js";

/** Whether a message has the shape of the standard: shape, not name, tells it from older vocabularies. */
export function isStandard(message: unknown): boolean {
  if (!isObject(message) || !isObject(message.data) || !isObject(message.metadata)) return false;
  return typeof message.type === "string" && readEvent(message)?.type === message.type;
}

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
  if (message === null || message === undefined) return [];
  if (!isObject(message)) return [custom("message", message, {})];
  if (isStandard(message)) return [readEvent(message) as StreamEvent];
  const type = typeof message.type === "string" ? message.type : eventName;
  const typed = type === undefined || message.type === type ? message : { ...message, type };
  if (isDataFormulator(typed)) return readDataFormulator(typed, thought);
  if (hasStandardData(typed)) return [readEvent(typed) as StreamEvent];
  if (isEnvelopeMessage(typed)) return readEnvelope(typed);
  return readOld(typed, type ?? (textOf(message.type) || (typed.error ? "error" : "")));
}

/** Bare text behind an event name: some old servers send no JSON. */
const bareText = (text: string, eventName: string | undefined): Fields | null =>
  eventName !== undefined && aliasOf(eventName) ? { type: eventName, content: text } : null;

/** A standard event of which only the metadata is missing. */
function hasStandardData(message: Fields): boolean {
  const isBare =
    typeof message.type === "string" &&
    isObject(message.data) &&
    Object.keys(message).every((name) => name === "type" || name === "data");
  return isBare && message.type !== "error" && readEvent({ ...message, metadata: {} })?.type === message.type;
}

export interface NormalizerOptions {
  /** The backend sends no end: a body that ends properly after an event is complete. */
  endsAtEof?: boolean | undefined;
}

interface OpenCall {
  id: string;
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
  let all = "";
  let segment = "";
  let hasBegun = false;
  let isAnswered = false;
  let failure: EventOf<"error"> | null = null;
  let isOver = false;

  const startCall = (start: EventOf<"tool_call_start">): StreamEvent => {
    calls += 1;
    const id = start.data.tool_id || `call_${calls}`;
    open.push({ id, name: start.data.tool_name, batch });
    return { ...start, data: { ...start.data, tool_id: id } };
  };

  const endCall = (end: EventOf<"tool_call_end">, name: string): StreamEvent[] => {
    const index = end.data.tool_id ? open.findIndex(({ id }) => id === end.data.tool_id) : placeOf(open, name);
    const known = open[index];
    if (known) open.splice(index, 1);
    const id = known?.id ?? end.data.tool_id;
    if (known || id) return [{ ...end, data: { ...end.data, tool_id: id } }];
    const made = startCall(
      event(
        "tool_call_start",
        { tool_id: "", tool_name: name || "unknown", arguments: {} },
        {},
      ) as EventOf<"tool_call_start">,
    );
    open.pop();
    return [made, { ...end, data: { ...end.data, tool_id: `call_${calls}` } }];
  };

  const text = (piece: EventOf<"content">, isRepeat: boolean): StreamEvent => {
    if (piece.data.channel !== undefined) return piece;
    const data = isRepeat ? { ...piece.data, ...onlyNew(piece.data.content, all, segment) } : piece.data;
    all = data.op === "replace" ? data.content : all + data.content;
    segment = data.op === "replace" ? data.content : segment + data.content;
    return { ...piece, data };
  };

  const one = (read: StreamEvent, message: unknown): StreamEvent[] => {
    if (read.type !== "tool_call_start") batch += 1;
    switch (read.type) {
      case "content":
        return [text(read, read.data.is_complete === true && !isStandard(message))];
      case "tool_call_start":
        segment = "";
        return [startCall(read)];
      case "tool_call_end":
        segment = "";
        return endCall(read, isObject(message) ? nameIn(message) : "");
      case "error":
        if (read.data.terminal) failure = read;
        return [read];
      case "session_end":
        isOver = true;
        return [failure ? failedEnd(read, failure) : read];
      default:
        return [read];
    }
  };

  const normalize: Normalizer = (message, eventName) => {
    const events = read(message, eventName, () => ++thoughts);
    hasBegun ||= events.length > 0;
    const type = isObject(message) ? (message.type ?? eventName) : eventName;
    if (events.some(({ type }) => type !== "status" && type !== "warning")) isAnswered = type === "final_answer";
    return events.flatMap((event) => one(event, message));
  };
  normalize.close = () => {
    if (isOver || failure || !(isAnswered || (options.endsAtEof && hasBegun))) return [];
    isOver = true;
    return [sessionEnd("completed", {})];
  };
  return normalize;
}

const failedEnd = (end: EventOf<"session_end">, { data }: EventOf<"error">): StreamEvent => ({
  ...end,
  data: { ...end.data, status: "error", reason: failureFields(data.code).reason },
});

const nameIn = (message: Fields): string => {
  const fields = isObject(message.data) ? { ...message, ...message.data } : message;
  return textOf(first(fields, "tool_name", "name", "tool"));
};

/**
 * Which open call an end without an id belongs to: of those with its name that were opened one behind the other the
 * first, else the last with its name, else the last of all.
 */
function placeOf(open: OpenCall[], name: string): number {
  const named = open.map((call, place) => ({ ...call, place })).filter((call) => call.name === name);
  const last = named.at(-1);
  if (!last) return open.length - 1;
  const isOneBatch = named.every(({ batch }) => batch === last.batch);
  return (isOneBatch ? named[0] : last)?.place ?? -1;
}

const plain = (text: string): string => text.trim().normalize("NFC");

/** The part of a whole answer that is new after the pieces before it: `all` of them, and those since the last call. */
function onlyNew(whole: string, all: string, segment: string): { content: string; op?: "replace" } {
  if (!whole || !all) return { content: whole };
  if (plain(whole) === plain(all) || plain(whole) === plain(segment)) return { content: "" };
  if (whole.startsWith(all)) return { content: whole.slice(all.length) };
  if (segment && whole.startsWith(segment)) return { content: whole.slice(segment.length) };
  if (!segment && !whole.startsWith(all.slice(0, Math.floor(all.length / 2) + 1))) return { content: whole };
  return { content: whole, op: "replace" };
}
