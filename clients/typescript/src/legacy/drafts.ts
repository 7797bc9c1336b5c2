import { isCode, upstreamFailure } from "../events/codes.js";
import type { EventType } from "../events/event-types.js";
import { REASONS } from "../events/read-event.js";
import {
  argumentsOf,
  BOOKKEEPING,
  type Fields,
  filled,
  first,
  flagIn,
  isOneOf,
  only,
  TEXT,
  TOOL,
  textIn,
  textOf,
  without,
} from "./fields.js";

/** An event of the standard that is being made. */
export interface Draft {
  type: EventType;
  data: Fields;
  metadata: Fields;
}

/** The events of a message; null if it is not one of the vocabulary. */
export type Drafts = Draft | (Draft | Draft[])[] | null;

/** Reads a message of one type; null if it lacks the fields that mark a message of its vocabulary. */
export type Reader = (fields: Fields, ids: Fields, type: string, message: Fields) => Drafts;

/** The readers of a vocabulary, by the type of the message. */
export type Readers = Readonly<Record<string, Reader>>;

/** An event. Fields that are null are left out of its data and its metadata. */
export const event = (type: EventType, data: Fields, metadata: Fields = {}): Draft => ({
  type,
  data: without(data),
  metadata: without(metadata),
});

/** A piece of text, an empty one too. An empty text beside fields that no rule reads is custom data. */
export const readText: Reader = (fields, ids, type) => {
  const content = textIn(fields, TEXT);
  const others = filled(without(fields, `${BOOKKEEPING} ${TEXT}`));
  if (!content && others) return custom(type, others, ids);
  const is_complete = type === "final_answer" || null;
  if (!content && !is_complete) return event("content", { content: "" });
  return event(type === "thinking" ? type : "content", { content: content ?? "", is_complete }, ids);
};

/** The start of a call. `more`: arguments that are given beside the usual ones. */
export const toolStart = (fields: Fields, tool_id: unknown, ids?: Fields, more?: Fields | null): Draft =>
  event(
    "tool_call_start",
    {
      tool_id: textOf(tool_id) ?? "",
      tool_name: textIn(fields, TOOL) ?? "unknown",
      description: textIn(fields, "description"),
      arguments: { ...more, ...argumentsOf(first(fields, "tool_args tool_input arguments args input")) },
    },
    ids,
  );

/** The end of a call. The text of its failure may be an exception's: only the code is kept. */
export const toolEnd = (tool_id: unknown, failed: unknown, result: unknown, ids?: Fields, code?: unknown): Draft =>
  event(
    "tool_call_end",
    {
      tool_id: textOf(tool_id) ?? "",
      status: failed ? "failed" : "success",
      result,
      error: failed ? { code: isCode(code) ? code : "TOOL_FAILED", message: "The tool failed." } : null,
    },
    ids,
  );

export const hasFailed = ({ status }: Fields): boolean =>
  isOneOf(status, "error errored failed failure timeout cancelled canceled");

/** The end of the call `tool_id`. Without a status its flags tell whether it has failed. */
export function readToolEnd(fields: Fields, tool_id: unknown, ids: Fields): Draft {
  const { status, success, is_error, error_message, error = error_message } = fields;
  const failed = status ? hasFailed(fields) : success === false || is_error === true || error;
  const { code = fields.code } = Object(error) as Fields;
  return toolEnd(
    tool_id,
    failed,
    first(fields, "result tool_output output tool_result content data", (value) => value != null),
    ids,
    code,
  );
}

export const sessionEnd = (status: string, ids?: Fields, summary: Fields | null = null): Draft =>
  event("session_end", { status, summary, reason: REASONS[status] }, ids);

/** The end of a stream; a word that is not known says `completed`. */
export function readEnd(fields: Fields, ids: Fields): Draft {
  const { status, usage } = fields;
  const names = "prompt_tokens completion_tokens total_tokens finish_reason";
  const word = isOneOf(status, "error failed")
    ? "error"
    : isOneOf(status, "cancelled canceled stopped aborted")
      ? "cancelled"
      : isOneOf(status, "suspended")
        ? "suspended"
        : "completed";
  return sessionEnd(word, ids, only({ ...(usage as Fields), ...fields }, names));
}

/**
 * An error. Its code decides the text that is shown, since the text of the message may be an exception's. The fields of
 * `changes` replace those of the code.
 */
export function errorEvent(given: unknown, changes: Fields = {}, ids?: Fields): Draft {
  const known = { ...upstreamFailure(isCode(given) ? given : "UPSTREAM_ERROR"), reason: null };
  const metadata = { ...ids, duration_ms: null, upstream_time: null };
  return event("error", { ...known, terminal: true, ...without(changes) }, metadata);
}

/** A stop that servers of the envelope report as an error: its code, or its text. */
const STOP = /^\s*((stream )?stopped|cancell?ed|(stopped|request cancelled) by user)\.?\s*$/i;

/** The error of a message, whose fields may be in an `error` of it. It ends the stream. */
export function readError(given: Fields, ids: Fields): Draft {
  const fields = { ...given, ...(given.error as Fields) };
  const texts = [textIn(fields, "error_code code"), textIn(fields, "message error error_message detail")];
  if ("upstream_time" in ids && texts.some((text) => STOP.test(String(text)))) return sessionEnd("cancelled", ids);
  const { error, error_code = isCode(error) ? error : null, code = error_code } = fields;
  return errorEvent(code, { recoverable: flagIn(fields, "recoverable retryable retry") }, ids);
}

/** A field of JSON that reports a failure: by its name, unless its value denies it, or by the word of a state. */
const REPORTS_FAILURE = /"\w*(error|exception|fail|trace)\w*":(?!null|false|0|"")|"status":"(err|fail)/i;

/**
 * An event of an app's own. If it reports a failure, its texts are withheld, which may be those of exceptions; codes and
 * names are kept.
 */
export function custom(name: string, value: unknown, ids?: Fields): Draft {
  const withheld = (field: string, item: unknown) =>
    typeof item !== "string" || isCode(item) || /id$|^(tool(_name)?|status)$/.test(field) ? item : "[withheld]";
  const json = JSON.stringify(value);
  const isFailure = REPORTS_FAILURE.test(`"${name}":1${json}`);
  const data = { name, value: isFailure ? JSON.parse(json, withheld) : value };
  return event("data", { data_type: "custom", data }, { ...ids, duration_ms: null });
}
