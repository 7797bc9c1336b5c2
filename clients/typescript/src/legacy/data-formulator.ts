import { isCode } from "../events/codes.js";
import { isObject } from "../events/read-event.js";
import { type Draft, type Drafts, errorEvent, event, sessionEnd, toolEnd, toolStart } from "./drafts.js";
import { type Fields, filled, flagIn, isOneOf, only, textIn, textOf, without } from "./fields.js";

/** The error type of one of the server's codes, by its first letters. Other codes have the type of the protocol. */
function typeOf(code: string): string | null {
  if (/_TIMEOUT$/.test(code)) return "timeout";
  if (/^(INVALID|VALID)/.test(code)) return "validation";
  return /^(A[CU]|CA|CONN|D|F|INT|L|S|TA)/.test(code) ? "system" : null;
}

/** Makes the event of a thought, if there is one. */
type Think = (text: unknown) => Draft[];

/** The types of Data Formulator. A reader gives null if the message lacks the fields that mark one of its type. */
export const DATA_FORMULATOR: Readonly<Record<string, (message: Fields, think: Think) => Drafts>> = {
  __proto__: null as never,
  text_delta: ({ content, channel }) =>
    isText(content) ? event("content", { content, channel: channel === "main" ? null : textOf(channel) }) : null,
  thinking_text: ({ content }, think) => (isText(content) ? think(content) : null),
  // arguments may be fields beside the name of the tool
  tool_start: (message) =>
    isText(message.tool)
      ? toolStart(message, message.tool_id, {}, only(message, "purpose code table_names query skill"))
      : null,
  // the fields of the result are beside the name of the tool; a `status` with another word is the tool's own
  tool_result: ({ type: _, tool, iteration: __, tool_id, error, ...fields }) => {
    const hasFailed = isOneOf(fields.status, "error failed");
    const result = without(fields, hasFailed || isOneOf(fields.status, "ok success") ? "status" : "");
    return isText(tool) ? toolEnd(tool_id, hasFailed || error, filled(result)) : null;
  },
  warning: ({ warning }) =>
    isObject(warning) ? event("warning", { message: textOf(warning.message) ?? "", ...keysOf(warning) }) : null,
  error: (message) => {
    const { type, error, iteration, message_code, message: text } = message;
    if (isObject(error)) return type ? structured(error) : null;
    // the text of an error of an agent may be an exception's, and the run often goes on
    const terminal = isOneOf(message_code, "agent.llmapierror agent.parseactionfailed");
    const isFlat = text !== undefined && (iteration ?? message_code) !== undefined;
    return isFlat ? errorEvent(null, { terminal, ...keysOf(message) }) : null;
  },
  completion: ({ content, status }, think) => (isObject(content) ? completion(content, status, think) : null),
  done: ({ full_text: summary }, think) => (summary === undefined ? null : completion({ summary }, "", think)),
  clarify: pause,
  interact: pause,
  explain: pause,
};

const isText = (value: unknown): value is string => typeof value === "string";

/** The keys under which a page has a translation of a message. */
const keysOf = ({ message_code, message_params }: Fields): Fields => ({
  message_code: textOf(message_code),
  message_params: isObject(message_params) ? message_params : null,
});

/** An error of the server's routes: a code, and a message that is written for users. It ends the stream. */
function structured(error: Fields): Draft {
  const { code } = error;
  if (code === "CANCELLED") return sessionEnd("cancelled");
  const own = isCode(code) && {
    error_type: typeOf(code),
    message: textIn(error, "message content"),
  };
  return errorEvent(code, { ...own, recoverable: flagIn(error, "retry"), ...keysOf(error) });
}

function pause(message: Fields, think: Think): Drafts {
  const { type, questions, message: text, options, thought, trajectory } = message;
  if (!Array.isArray(questions) && trajectory === undefined) return null;
  const given = Array.isArray(questions) ? questions.filter(isObject) : [];
  const data = {
    interaction_id: type,
    kind: "questions",
    state: "requested",
    questions: (given.length || !text ? given : [{ text, options }]).map(question),
    resume: only(message, "trajectory completed_step_count"),
  };
  return [type === "interact" ? [] : think(thought), event("interaction", data), sessionEnd("suspended")];
}

function question(item: Fields): Fields {
  const { text_params, response_type, responseType = response_type } = item;
  const shown = Array.isArray(item.options) ? item.options.filter(labelOf) : [];
  const options = shown.length ? shown.map(labelOf) : null;
  const codes = shown.map((option) => (isObject(option) ? textOf(option.label_code) : null));
  return without({
    text: textIn(item, "text text_code") ?? "",
    response_type: isOneOf(responseType, "single_choice free_text")
      ? responseType
      : options
        ? "single_choice"
        : "free_text",
    options,
    required: flagIn(item, "required"),
    text_code: textIn(item, "text_code"),
    text_params: isObject(text_params) ? text_params : null,
    option_codes: codes.some(Boolean) ? codes : null,
  });
}

const labelOf = (option: unknown): string | null =>
  isObject(option) ? textIn(option, "label label_code") : textOf(option);

/** The end of a run, with the whole answer once more. */
function completion({ thought, summary }: Fields, status: unknown, think: Think): Drafts {
  const content = textOf(summary);
  if (isOneOf(status, "llm_error parse_failed error failed")) return [think(thought), errorEvent(null)];
  const whole = content ? event("content", { content, is_complete: true }) : [];
  return [think(thought), whole, sessionEnd("completed")];
}
