import { failureFields } from "../events/codes.js";
import type { DataOf } from "../events/event-types.js";
import type { MessageState } from "../message/message-state.js";
import { MessageStreamHandler } from "../message/message-stream-handler.js";
import type { StreamEvent } from "../protocol.js";
import { StreamRequestError } from "../request/errors.js";
import { givenBy, randomId, type Source } from "../request/http.js";
import type { StreamRequestOptions } from "../request/options.js";
import { callSafely } from "../request/report.js";
import { type StreamRequest, streamRequest } from "../request/stream-request.js";
import type {
  AgentStream,
  AgentStreamOptions,
  AgentStreamState,
  AnswerAction,
  DefaultInput,
  InteractionAnswer,
  Message,
  Turn,
  UserMessage,
} from "./conversation-types.js";
import { createPublisher } from "./publisher.js";

const THROTTLE = 16;

/** The last question, which `retry` repeats. */
interface LastTurn<Input> {
  input: Input | null;
  answers: InteractionAnswer[];
}

/** One answer while it comes. `isLeft`: its events and its end are ignored from then on. */
interface Run {
  handler: MessageStreamHandler;
  request: StreamRequest | null;
  isLeft: boolean;
}

const textOf = (input: unknown): string => {
  const text = typeof input === "string" ? input : (input as { text?: unknown } | null)?.text;
  return typeof text === "string" ? text : "";
};

const same = <T>(one: T[], other: T[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

function answerTo(asked: DataOf<"interaction">, value: unknown, action?: AnswerAction): InteractionAnswer {
  const isVerdict = asked.kind === "approval" && typeof value === "boolean";
  return {
    interaction_id: asked.interaction_id,
    action: action ?? (isVerdict ? (value ? "approve" : "reject") : "submit"),
    ...(value !== undefined && { value }),
    ...(asked.resume !== undefined && { resume: asked.resume }),
  };
}

function defaultBody({ input, text, answers, threadId }: Turn<unknown>): Record<string, unknown> {
  const thread = threadId !== null && { thread_id: threadId };
  if (answers.length) return { ...thread, resume: answers };
  const { text: _, ...fields } = (typeof input === "object" && (input as { text?: unknown })) || {};
  return { ...fields, message: text, ...thread };
}

function historyOf(messages: readonly Message<unknown>[]): Turn["history"] {
  return messages
    .filter(({ role, mainContent }) => role === "user" || mainContent)
    .map(({ role, mainContent }) => ({ role, content: mainContent }));
}

/** An exception of a function of the page becomes a failure, so that no promise rejects. */
function asRequestError(error: unknown): StreamRequestError {
  if (error instanceof StreamRequestError) return error;
  return new StreamRequestError({ ...failureFields("INTERNAL"), kind: "connection_failed", cause: error });
}

/**
 * Makes a conversation. Nothing is sent before `send`.
 *
 * | variable   | set                                                   | cleared                                  |
 * |------------|-------------------------------------------------------|------------------------------------------|
 * | `run`      | when a request begins                                 | by its end, `stop`, `reset`, the last holder |
 * | `handler`  | with each answer; kept for the answer to an interaction | by `reset`                             |
 * | `answers`  | by `respond`                                          | when a request begins, by `reset`        |
 * | `lastTurn` | by `send`, and by the `respond` that sends            | by `reset`                               |
 *
 * `state` changes at once, and is shown when the publisher makes a snapshot of it.
 */
export function createAgentStream<Input = DefaultInput>(given: AgentStreamOptions<Input>): AgentStream<Input> {
  let options = given;
  let run: Run | null = null;
  let handler: MessageStreamHandler | null = null;
  let answers: InteractionAnswer[] = [];
  let lastTurn: LastTurn<Input> | null = null;
  let holders = 0;
  let state: AgentStreamState<Input> = {
    messages: given.initialMessages ?? [],
    status: "idle",
    error: null,
    threadId: given.threadId ?? null,
    runUrl: null,
    pendingInteractions: [],
  };

  const set = (changes: Partial<AgentStreamState<Input>>): void => {
    state = { ...state, ...changes };
  };

  /** The conversation with the answer that comes; an answer of which nothing has come, and nothing will, is left out. */
  const withAnswer = (): Message<Input>[] => {
    const { messages } = state;
    const answer = handler?.message;
    if (!answer) return messages;
    const place = messages.findIndex(({ id }) => id === answer.id);
    if (!run && answer.metadata.startTime === null && answer.status === null && !answer.hasError) {
      return place < 0 ? messages : messages.filter(({ id }) => id !== answer.id);
    }
    if (messages[place] === answer) return messages;
    return place < 0 ? [...messages, answer] : messages.map((message, at) => (at === place ? answer : message));
  };

  const pending = (): DataOf<"interaction">[] => {
    if (state.status !== "suspended") return [];
    const latest = new Map<string, DataOf<"interaction">>();
    for (const asked of handler?.message.interactions ?? []) latest.set(asked.interaction_id, asked);
    for (const { interaction_id } of answers) latest.delete(interaction_id);
    return [...latest.values()].filter(({ state }) => state === "requested");
  };

  const publisher = createPublisher<AgentStreamState<Input>>(
    () => {
      const asked = pending();
      const { pendingInteractions: before } = state;
      set({ messages: withAnswer(), pendingInteractions: same(before, asked) ? before : asked });
      return state;
    },
    () => options.throttle ?? THROTTLE,
  );

  /** An answer begins: it is shown at once, empty. */
  const begin = (to: MessageStreamHandler): Run => {
    handler = to;
    run = { handler, request: null, isLeft: false };
    answers = [];
    set({ status: "submitted", error: null, runUrl: null });
    publisher.publish();
    return run;
  };

  /** Leaves the run: its later events are ignored. */
  const leave = (): void => {
    if (!run) return;
    run.isLeft = true;
    run.request?.cancel();
    run.handler.leave();
    run = null;
    set({ status: "idle", runUrl: null });
    publisher.publish();
  };

  /** The run was over before it was read: it leaves no message. */
  const isEmpty = ({ handler, request }: Run): boolean =>
    request?.response?.status === 204 && handler.message.metadata.startTime === null;

  const finish = (own: Run): void => {
    const { message } = own.handler;
    run = null;
    const status = state.error ? "error" : message.status === "suspended" ? "suspended" : "idle";
    set({ status, runUrl: null });
    publisher.publish();
    if (!state.error && !isEmpty(own)) callSafely(options.onFinish, message);
  };

  const fail = (own: Run, exception: unknown): void => {
    const error = asRequestError(exception);
    set({ error });
    own.handler.fail(error);
    callSafely(options.onError, error);
  };

  const requestOptions = (own: Run): StreamRequestOptions => ({
    ...options,
    headers: () => givenBy(options.headers ?? {}),
    body: undefined,
    fetch: (...args) => (options.fetch ?? fetch)(...args),
    normalize: options.normalize?.(),
    onWarning: (data) => callSafely(options.onWarning, data),
    onResponse: () => showRunUrl(own),
    onReconnect: () => {
      set({ status: "reconnecting" });
      publisher.note();
    },
  });

  const showRunUrl = ({ request, isLeft }: Run): void => {
    if (isLeft) return;
    set({ runUrl: request?.runUrl ?? null });
    publisher.note();
  };

  const read = (own: Run, event: StreamEvent): void => {
    own.handler.handleEvent(event);
    set({ status: "streaming", threadId: event.metadata.thread_id || state.threadId });
    callSafely(options.onEvent, event);
    if (!own.isLeft) publisher.note();
  };

  const follow = async (own: Run, url: Source<string | URL>, prepare: () => Promise<StreamRequestOptions>) => {
    try {
      const address = await givenBy(url);
      const prepared = await prepare();
      if (!own.isLeft) {
        own.request = streamRequest(address, { ...requestOptions(own), ...prepared });
        for await (const event of own.request) {
          if (own.isLeft) break;
          read(own, event);
        }
      }
    } catch (error) {
      if (!own.isLeft) fail(own, error);
    }
    if (!own.isLeft) finish(own);
    return isEmpty(own) ? null : own.handler.message;
  };

  const ask = (turn: LastTurn<Input>): Promise<MessageState | null> => {
    const { input, answers } = turn;
    const { messages, threadId } = state;
    const asked = { input, text: textOf(input), answers, threadId, messages, history: historyOf(messages) };
    lastTurn = turn;
    const isAnswer = answers.length > 0 && handler;
    const own = begin(isAnswer || new MessageStreamHandler());
    return follow(own, options.url, async () => ({ body: await (options.body ?? defaultBody)(asked) }));
  };

  return {
    subscribe: publisher.subscribe,
    getSnapshot: publisher.getSnapshot,

    async send(input) {
      if (run) return null;
      const question: UserMessage<Input> = { id: randomId("msg_"), role: "user", mainContent: textOf(input), input };
      set({ messages: [...state.messages, question] });
      return ask({ input, answers: [] });
    },

    async respond(interactionId, value, action) {
      const asked = pending().find(({ interaction_id }) => interaction_id === interactionId);
      if (run || !asked) return null;
      answers = [...answers, answerTo(asked, value, action)];
      if (!pending().length) return ask({ input: null, answers });
      publisher.publish();
      return null;
    },

    async retry() {
      if (run || !lastTurn) return null;
      const answer = handler?.message;
      if (!lastTurn.answers.length && answer?.hasError) {
        set({ messages: state.messages.filter(({ id }) => id !== answer.id) });
      }
      return ask(lastTurn);
    },

    async resume(runUrl) {
      return run ? null : follow(begin(new MessageStreamHandler()), runUrl, async () => ({ method: "GET" }));
    },

    async stop() {
      if (!run) return;
      const { handler, request } = run;
      const data = { status: "cancelled", reason: "cancelled" } as const;
      handler.handleEvent({ type: "session_end", data, metadata: { timestamp: Date.now() } });
      leave();
      callSafely(options.onFinish, handler.message);
      await request?.stop();
    },

    reset(messages = []) {
      leave();
      handler = lastTurn = null;
      answers = [];
      set({ messages, error: null, threadId: options.threadId ?? null, status: "idle" });
      publisher.publish();
    },

    setOptions(newest) {
      options = newest;
    },

    retain() {
      let isHeld = true;
      holders += 1;
      return () => {
        if (isHeld) holders -= 1;
        isHeld = false;
        setTimeout(() => {
          if (!holders) leave();
        });
      };
    },
  };
}
