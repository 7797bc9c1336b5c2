import type { Normalizer } from "../events/event-reader.js";
import type { DataOf } from "../events/event-types.js";
import type { MessageState } from "../message/message-state.js";
import type { StreamEvent } from "../protocol.js";
import type { StreamRequestError } from "../request/errors.js";
import type { FetchOptions, HeadersLike, Source } from "../request/http.js";
import type { Timeouts } from "../request/options.js";
import type { ResumeOptions } from "../request/pause.js";

/** The default input: a text, or an object with `text` and other fields. */
export type DefaultInput = string | { text?: string; [field: string]: unknown };

/** A message of the user. */
export interface UserMessage<Input = DefaultInput> {
  id: string;
  role: "user";
  mainContent: string;
  input: Input;
}

/** One message of the conversation, of the user or of the assistant (`role`). */
export type Message<Input = DefaultInput> = UserMessage<Input> | MessageState;

/** An answer to an interaction, as it is sent. */
export interface InteractionAnswer {
  interaction_id: string;
  action: AnswerAction;
  value?: unknown;
  /** The `resume` of the interaction. */
  resume?: Record<string, unknown>;
}

export type AnswerAction = "submit" | "cancel" | "approve" | "reject";

/** The facts of which one request is made. */
export interface Turn<Input = DefaultInput> {
  /** The argument of `send`; null if interactions are answered. */
  input: Input | null;
  /** Its text. */
  text: string;
  /** The answers to the interactions of a suspended run; empty for a new question. */
  answers: InteractionAnswer[];
  threadId: string | null;
  /** The conversation, the new question included. */
  messages: Message<Input>[];
  /** The same as plain texts. */
  history: { role: "user" | "assistant"; content: string }[];
}

/**
 * | status         | running                                          |
 * |----------------|--------------------------------------------------|
 * | `idle`         | nothing                                          |
 * | `submitted`    | a request without an answer yet                  |
 * | `streaming`    | an answer                                        |
 * | `reconnecting` | an answer whose connection broke                 |
 * | `suspended`    | nothing: `pendingInteractions` are to be answered |
 * | `error`        | nothing: the last answer failed                  |
 */
export type StreamStatus = "idle" | "submitted" | "streaming" | "reconnecting" | "suspended" | "error";

/** A conversation as it is. Plain data that never changes. */
export interface AgentStreamState<Input = DefaultInput> {
  messages: Message<Input>[];
  status: StreamStatus;
  /** Why the last answer failed. */
  error: StreamRequestError | null;
  threadId: string | null;
  /** The address at which the run can be read, while it lasts. */
  runUrl: string | null;
  /** The interactions that a suspended run waits for: requested, not cancelled, not answered. */
  pendingInteractions: DataOf<"interaction">[];
}

export interface AgentStreamOptions<Input = DefaultInput> {
  url: Source<string | URL>;
  headers?: Source<HeadersLike> | undefined;
  /** The body of a request. Absent: `{...input without text, message: text, thread_id?}`, or the answers. */
  body?: ((turn: Turn<Input>) => unknown) | undefined;
  protocol?: string | undefined;
  framing?: "sse" | "ndjson" | undefined;
  timeouts?: Timeouts | undefined;
  resume?: boolean | ResumeOptions | undefined;
  fetch?: typeof fetch | undefined;
  fetchOptions?: FetchOptions | undefined;
  /** Makes the reader of an old vocabulary, once for each answer. */
  normalize?: (() => Normalizer) | undefined;
  threadId?: string | null | undefined;
  initialMessages?: Message<Input>[] | undefined;
  /** Listeners are told at most once in so many milliseconds; 16 if absent, 0 for each event. */
  throttle?: number | undefined;
  onEvent?: ((event: StreamEvent) => void) | undefined;
  onWarning?: ((data: DataOf<"warning">) => void) | undefined;
  /** Called when an answer has failed. */
  onError?: ((error: StreamRequestError) => void) | undefined;
  /** Called when an answer is over and has not failed: completed, suspended or stopped. */
  onFinish?: ((message: MessageState) => void) | undefined;
}

/** A conversation with an agent: a store for any framework. No promise of it rejects. */
export interface AgentStream<Input = DefaultInput> {
  /** Calls `listener` after each change; returns a function that ends that. */
  subscribe(listener: () => void): () => void;
  /** The conversation: the same object until listeners are told. */
  getSnapshot(): AgentStreamState<Input>;
  /** Asks. Resolves with the answer when it is over; null where one is running already. */
  send(input: Input): Promise<MessageState | null>;
  /** Answers an interaction. With the last answer a request goes out; null if more answers are needed, or no interaction has this id. */
  respond(interactionId: string, value?: unknown, action?: AnswerAction): Promise<MessageState | null>;
  /** Repeats the last request. A failed answer leaves, unless it was the answer to an interaction. */
  retry(): Promise<MessageState | null>;
  /** Reads a run from its start: after a reload, or in another tab. Null where it is over. */
  resume(runUrl: string | URL): Promise<MessageState | null>;
  /** Stops the run. */
  stop(): Promise<void>;
  /** Leaves the run and begins anew. */
  reset(messages?: Message<Input>[]): void;
  setOptions(options: AgentStreamOptions<Input>): void;
  /** Holds the store. If it has had no holder for a task, its run is left, not stopped. */
  retain(): () => void;
}
