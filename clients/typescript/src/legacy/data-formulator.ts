import { failureFields, isCode } from "../events/codes.js";
import { isObject } from "../events/read-event.js";
import type { StreamEvent } from "../protocol.js";
import {
  argumentsOf,
  event,
  type Fields,
  first,
  hiddenError,
  present,
  sessionEnd,
  textOf,
  toolEnd,
  without,
} from "./fields.js";

/** Arguments that stand beside the name of the tool. */
const DETACHED = ["purpose", "code", "table_names", "query", "skill"];
const STATES: Readonly<Record<string, string>> = {
  ok: "success",
  success: "success",
  error: "failed",
  failed: "failed",
};
const ENDS_THE_RUN = ["agent.llmApiError", "agent.parseActionFailed"];
/** The codes of the server's errors that have a kind of their own; its others are `system`. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  LLM_TIMEOUT: "timeout",
  CATALOG_SYNC_TIMEOUT: "timeout",
  INVALID_REQUEST: "validation",
  VALIDATION_ERROR: "validation",
  CODE_EXECUTION_ERROR: "execution",
  AGENT_ERROR: "execution",
};
const SYSTEM =
  /^(AUTH_REQUIRED|AUTH_EXPIRED|ACCESS_DENIED|TABLE_NOT_FOUND|FILE_(PARSE_ERROR|TOO_LARGE)|LLM_\w+|CONNECTOR_\w+|DB_\w+|DATA_LOAD_ERROR|CATALOG_NOT_FOUND|INTERNAL_ERROR|SERVICE_UNAVAILABLE|STORAGE_FULL)$/;

const FAILED = ["llm_error", "parse_failed", "error", "failed"];

/** Whether a message is one of Data Formulator's. */
export function isDataFormulator(message: Fields): boolean {
  switch (message.type) {
    case "text_delta":
    case "thinking_text":
      return typeof message.content === "string";
    case "clarify":
    case "interact":
    case "explain":
      return Array.isArray(message.questions) || "trajectory" in message;
    case "completion":
      return isObject(message.content) && "summary" in message.content;
    case "tool_start":
    case "tool_result":
      return typeof message.tool === "string";
    case "warning":
      return isObject(message.warning);
    case "error":
      return isObject(message.error) || "iteration" in message || "message_code" in message;
    case "done":
      return "full_text" in message;
    default:
      return false;
  }
}

/** The events of a message of Data Formulator. `thought` gives the number of the next thought, which is one message. */
export function readDataFormulator(message: Fields, thought: () => number): StreamEvent[] {
  const think = (text: unknown): StreamEvent[] =>
    textOf(text) ? [event("thinking", { content: textOf(text) }, { message_id: `thought_${thought()}` })] : [];
  switch (message.type) {
    case "text_delta":
      return [textDelta(message)];
    case "thinking_text":
      return think(message.content);
    case "tool_start":
      return [toolStart(message)];
    case "tool_result":
      return [toolResult(message)];
    case "warning":
      return [warning(message.warning as Fields)];
    case "error":
      return [isObject(message.error) ? structured(message.error) : flat(message)];
    case "clarify":
    case "explain":
      return [...think(message.thought), ...pause(message)];
    case "interact":
      return pause(message);
    case "completion":
      return completion(message, think);
    case "done":
      return [...whole(textOf(message.full_text)), sessionEnd("completed", {})];
    default:
      return [];
  }
}

function textDelta({ content, channel }: Fields): StreamEvent {
  const isNamed = typeof channel === "string" && channel !== "" && channel !== "main";
  return event("content", { content: textOf(content), ...(isNamed && { channel }) }, {});
}

function toolStart(message: Fields): StreamEvent {
  const given = argumentsOf(message.args);
  const detached = present(
    Object.fromEntries(DETACHED.filter((name) => !(name in given)).map((name) => [name, message[name]])),
  );
  const tool_name = textOf(message.tool) || "unknown";
  return event(
    "tool_call_start",
    { tool_id: textOf(message.tool_id), tool_name, arguments: { ...given, ...detached } },
    {},
  );
}

function toolResult(message: Fields): StreamEvent {
  const state =
    typeof message.status === "string" && Object.hasOwn(STATES, message.status) ? STATES[message.status] : "";
  const failed = state === "failed" || Boolean(message.error);
  const result = without(message, "type", "tool", "tool_id", "error", "iteration", ...(state ? ["status"] : []));
  const tool_id = textOf(message.tool_id);
  return toolEnd({ tool_id, failed, result: Object.keys(result).length ? result : null }, {});
}

const warning = (fields: Fields): StreamEvent =>
  event("warning", { message: textOf(fields.message), ...keysOf(fields) }, {});

/** An error of the server's routes: a code, and a message that is written for users. It ends the stream. */
function structured(error: Fields): StreamEvent {
  const { code, retry } = error;
  if (code === "CANCELLED") return sessionEnd("cancelled", {});
  if (!isCode(code)) return hiddenError(code, true, {}, retry);
  const known = failureFields(code);
  const own = Object.hasOwn(ERROR_TYPES, code) ? ERROR_TYPES[code] : SYSTEM.test(code) ? "system" : known.error_type;
  return event(
    "error",
    {
      error_type: own,
      code,
      message: textOf(first(error, "message", "content")) || known.message,
      recoverable: typeof retry === "boolean" ? retry : known.recoverable,
      terminal: true,
      ...keysOf(error),
    },
    {},
  );
}

/** An error of an agent: its text may be an exception's, and the run often goes on. */
function flat(message: Fields): StreamEvent {
  const error = hiddenError(null, ENDS_THE_RUN.includes(textOf(message.message_code)), {});
  return { ...error, data: { ...error.data, ...keysOf(message) } } as StreamEvent;
}

/** The keys under which a page has a translation of a message. */
const keysOf = ({ message_code, message_params }: Fields): Fields => ({
  ...(typeof message_code === "string" ? { message_code } : {}),
  ...(isObject(message_params) ? { message_params } : {}),
});

function pause(message: Fields): StreamEvent[] {
  const given = Array.isArray(message.questions) ? message.questions.filter(isObject) : [];
  const asked = given.length || !message.message ? given : [{ text: message.message, options: message.options }];
  const resume = Object.fromEntries(
    ["trajectory", "completed_step_count"].filter((name) => name in message).map((name) => [name, message[name]]),
  );
  const data = {
    interaction_id: textOf(message.type),
    kind: "questions",
    state: "requested",
    questions: asked.map(question),
    ...(Object.keys(resume).length ? { resume } : {}),
  };
  return [event("interaction", data, {}), sessionEnd("suspended", {})];
}

function question(item: Fields): Fields {
  const shown = Array.isArray(item.options) ? item.options.filter(labelOf) : [];
  const codes = shown.map((option) => (isObject(option) && textOf(option.label_code)) || null);
  const given = item.responseType ?? item.response_type;
  const isKnown = given === "single_choice" || given === "free_text";
  return {
    text: textOf(first(item, "text", "text_code")),
    response_type: isKnown ? given : shown.length ? "single_choice" : "free_text",
    ...(shown.length ? { options: shown.map(labelOf) } : {}),
    ...(typeof item.required === "boolean" ? { required: item.required } : {}),
    ...(item.text_code ? { text_code: textOf(item.text_code) } : {}),
    ...(isObject(item.text_params) ? { text_params: item.text_params } : {}),
    ...(codes.some(Boolean) ? { option_codes: codes } : {}),
  };
}

const labelOf = (option: unknown): string => textOf(isObject(option) ? first(option, "label", "label_code") : option);

function completion(message: Fields, think: (text: unknown) => StreamEvent[]): StreamEvent[] {
  const content = isObject(message.content) ? message.content : { summary: message.content };
  const thoughts = think(content.thought);
  if (FAILED.includes(textOf(message.status))) return [...thoughts, hiddenError(null, true, {})];
  return [...thoughts, ...whole(textOf(content.summary)), sessionEnd("completed", {})];
}

/** The whole answer, once more. */
const whole = (content: string): StreamEvent[] =>
  content ? [event("content", { content, is_complete: true }, {})] : [];
