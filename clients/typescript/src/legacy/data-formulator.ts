import { isCode } from "../events/codes.js";
import { isObject } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import {
  errorEvent,
  event,
  type Fields,
  filled,
  only,
  sessionEnd,
  textIn,
  textOf,
  toolEnd,
  toolStart,
  verdict,
  without,
} from "./fields.js";

/** Arguments that are fields of the message, beside the name of the tool. */
const DETACHED = ["purpose", "code", "table_names", "query", "skill"];
const ENDS_THE_RUN = /^agent\.(llmApiError|parseActionFailed)$/;
/** The error types of the server's own codes. Other codes have the type that the protocol gives them. */
const ERROR_TYPES: readonly (readonly [string, RegExp])[] = [
  ["timeout", /_TIMEOUT$/],
  ["validation", /^(INVALID_REQUEST|VALIDATION_ERROR)$/],
  ["system", /^(ACCESS|AUTH|CATALOG|CONNECTOR|DATA|DB|FILE|INTERNAL|LLM|SERVICE|STORAGE|TABLE)_/],
];

/** Reads a message; null if it lacks the fields that mark a message of its type. */
type Reader = (message: Fields, think: (text: unknown) => StreamEvent[], type: string) => StreamEvent[] | null;

const READERS: Readonly<Record<string, Reader>> = {
  text_delta: (message) => (typeof message.content === "string" ? [textDelta(message)] : null),
  thinking_text: ({ content }, think) => (typeof content === "string" ? think(content) : null),
  tool_start: (message) => (typeof message.tool === "string" ? [toolCall(message)] : null),
  tool_result: (message) => (typeof message.tool === "string" ? [toolResult(message)] : null),
  warning: ({ warning }) =>
    isObject(warning) ? [event("warning", { message: textOf(warning.message), ...keysOf(warning) })] : null,
  error: (message) => {
    if (isObject(message.error)) return [structured(message.error)];
    return "iteration" in message || "message_code" in message ? [flat(message)] : null;
  },
  completion: ({ content, status }, think) => (isObject(content) ? completion(content, textOf(status), think) : null),
  done: ({ full_text: summary }, think) => (summary === undefined ? null : completion({ summary }, "", think)),
  clarify: pause,
  interact: pause,
  explain: pause,
};

/**
 * The events of a message of Data Formulator; null for any other. `thought` gives the number of the next thought, which is
 * one message.
 */
export function readDataFormulator(message: Fields, type: string, thought: () => number): StreamEvent[] | null {
  const think = (text: unknown): StreamEvent[] =>
    text ? [event("thinking", { content: textOf(text) }, { message_id: `thought_${thought()}` })] : [];
  return Object.hasOwn(READERS, type) ? (READERS[type]?.(message, think, type) ?? null) : null;
}

const toolCall = (message: Fields): StreamEvent =>
  toolStart(message, textOf(message.tool_id), {}, only(message, DETACHED));

function textDelta({ content, channel }: Fields): StreamEvent {
  const isNamed = typeof channel === "string" && channel && channel !== "main";
  return event("content", { content, channel: isNamed ? channel : null });
}

/** A result, whose fields are beside the tool's name. A `status` with another word is the tool's own. */
function toolResult({ type: _, tool: __, iteration: ___, tool_id, error, ...fields }: Fields): StreamEvent {
  const { status, ...others } = fields;
  const isVerdict = /^(ok|success|error|failed)$/.test(textOf(status));
  const failed = Boolean(error) || status === "error" || status === "failed";
  return toolEnd(textOf(tool_id), failed, filled(isVerdict ? others : fields));
}

/** The keys under which a page has a translation of a message. */
const keysOf = ({ message_code, message_params }: Fields): Fields => ({
  message_code: typeof message_code === "string" ? message_code || null : null,
  message_params: isObject(message_params) ? message_params : null,
});

/** An error of the server's routes: a code, and a message that is written for users. It ends the stream. */
function structured(error: Fields): StreamEvent {
  const { code, retry } = error;
  if (code === "CANCELLED") return sessionEnd("cancelled");
  const isNamed = isCode(code);
  return errorEvent(code, {
    error_type: (isNamed && ERROR_TYPES.find(([, codes]) => codes.test(code))?.[0]) || null,
    recoverable: verdict(retry),
    message: (isNamed && textIn(error, "message", "content")) || null,
    ...keysOf(error),
  });
}

/** An error of an agent: its text may be an exception's, and the run often goes on. */
const flat = (message: Fields): StreamEvent =>
  errorEvent(null, { terminal: ENDS_THE_RUN.test(textOf(message.message_code)), ...keysOf(message) });

function pause(message: Fields, think: (text: unknown) => StreamEvent[], type: string): StreamEvent[] | null {
  const { questions, message: text, options, thought } = message;
  if (!Array.isArray(questions) && !("trajectory" in message)) return null;
  const given = Array.isArray(questions) ? questions.filter(isObject) : [];
  const data = {
    interaction_id: type,
    kind: "questions",
    state: "requested",
    questions: (given.length || !text ? given : [{ text, options }]).map(question),
    resume: only(message, ["trajectory", "completed_step_count"]),
  };
  return [...(type === "interact" ? [] : think(thought)), event("interaction", data), sessionEnd("suspended")];
}

function question(item: Fields): Fields {
  const { options, required, text_params, response_type, responseType = response_type } = item;
  const shown = Array.isArray(options) ? options.filter(labelOf) : [];
  const codes = shown.map((option) => (isObject(option) && textOf(option.label_code)) || null);
  const isKnown = responseType === "single_choice" || responseType === "free_text";
  return without({
    text: textIn(item, "text", "text_code"),
    response_type: isKnown ? responseType : shown.length ? "single_choice" : "free_text",
    options: shown.length ? shown.map(labelOf) : null,
    required: verdict(required),
    text_code: textIn(item, "text_code") || null,
    text_params: isObject(text_params) ? text_params : null,
    option_codes: codes.some(Boolean) ? codes : null,
  });
}

const labelOf = (option: unknown): string =>
  isObject(option) ? textIn(option, "label", "label_code") : textOf(option);

/** The end of a run, with the whole answer once more. */
function completion(
  { thought, summary }: Fields,
  status: string,
  think: (text: unknown) => StreamEvent[],
): StreamEvent[] {
  if (/^(llm_error|parse_failed|error|failed)$/.test(status)) return [...think(thought), errorEvent(null)];
  const whole = summary ? [event("content", { content: textOf(summary), is_complete: true })] : [];
  return [...think(thought), ...whole, sessionEnd("completed")];
}
