import { failureFields } from "../events/codes.js";
import type { DataOf } from "../events/event-types.js";
import type { MessageState } from "../message/message-state.js";
import { MessageStreamHandler } from "../message/message-stream-handler.js";
import { StreamRequestError } from "../request/errors.js";
import { givenBy, randomId } from "../request/http.js";
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
  StreamStatus,
  Turn,
  UserMessage,
} from "./conversation-types.js";
import { Publisher } from "./publisher.js";

const THROTTLE = 16;

/** What was asked last, so that it can be repeated. */
interface LastTurn<Input> {
  input: Input | null;
  answers: InteractionAnswer[];
}

/** One answer while it comes. `isLeft`: nothing of it counts any more. */
interface Run {
  handler: MessageStreamHandler;
  request: StreamRequest | null;
  isLeft: boolean;
}

const textOf = (input: unknown): string => {
  if (typeof input === "string") return input;
  const text = (input as { text?: unknown } | null)?.text;
  return typeof text === "string" ? text : "";
};

class Conversation<Input> implements AgentStream<Input> {
  #options: AgentStreamOptions<Input>;
  #messages: Message<Input>[];
  #status: StreamStatus = "idle";
  #error: StreamRequestError | null = null;
  #threadId: string | null;
  #runUrl: string | null = null;
  #run: Run | null = null;
  /** The handler of the last message, which the answer to an interaction goes on with. */
  #handler: MessageStreamHandler | null = null;
  #answers: InteractionAnswer[] = [];
  #lastTurn: LastTurn<Input> | null = null;
  #holders = 0;
  readonly #publisher: Publisher<AgentStreamState<Input>>;

  constructor(options: AgentStreamOptions<Input>) {
    this.#options = options;
    this.#messages = options.initialMessages ?? [];
    this.#threadId = options.threadId ?? null;
    this.#publisher = new Publisher(
      (before) => this.#made(before),
      () => this.#options.throttle ?? THROTTLE,
    );
    this.subscribe = this.#publisher.subscribe;
    this.getSnapshot = this.#publisher.getSnapshot;
  }

  readonly subscribe: AgentStream<Input>["subscribe"];
  readonly getSnapshot: AgentStream<Input>["getSnapshot"];

  readonly send = async (input: Input): Promise<MessageState | null> => {
    if (this.#run) return null;
    const question: UserMessage<Input> = { id: randomId("msg_"), role: "user", mainContent: textOf(input), input };
    this.#messages = [...this.#messages, question];
    return this.#ask({ input, answers: [] });
  };

  readonly respond = async (id: string, value?: unknown, action?: AnswerAction): Promise<MessageState | null> => {
    const asked = this.#pending().find(({ interaction_id }) => interaction_id === id);
    if (this.#run || !asked) return null;
    this.#answers = [...this.#answers, answerTo(asked, value, action)];
    if (this.#pending().length) {
      this.#publisher.publish();
      return null;
    }
    return this.#ask({ input: null, answers: this.#answers });
  };

  readonly retry = async (): Promise<MessageState | null> => {
    const last = this.#lastTurn;
    if (this.#run || !last) return null;
    const answer = this.#handler?.message;
    if (!last.answers.length && answer?.hasError) {
      this.#messages = this.#messages.filter(({ id }) => id !== answer.id);
    }
    return this.#ask(last);
  };

  readonly resume = async (runUrl: string | URL): Promise<MessageState | null> => {
    if (this.#run) return null;
    this.#handler = new MessageStreamHandler();
    const run = this.#begin(this.#handler);
    return this.#follow(run, async () => ({ url: runUrl, options: { method: "GET" } }));
  };

  readonly stop = async (): Promise<void> => {
    const run = this.#run;
    if (!run) return;
    const metadata = { timestamp: Date.now() };
    run.handler.handleEvent({ type: "session_end", data: { status: "cancelled", reason: "cancelled" }, metadata });
    this.#runUrl = null;
    const { request } = run;
    this.#leave(run);
    callSafely(this.#options.onFinish, run.handler.message);
    await request?.stop();
  };

  readonly reset = (messages: Message<Input>[] = []): void => {
    if (this.#run) this.#leave(this.#run);
    this.#messages = messages;
    this.#handler = null;
    this.#lastTurn = null;
    this.#answers = [];
    this.#error = null;
    this.#runUrl = null;
    this.#threadId = this.#options.threadId ?? null;
    this.#status = "idle";
    this.#publisher.publish();
  };

  readonly setOptions = (options: AgentStreamOptions<Input>): void => {
    this.#options = options;
  };

  readonly retain = (): (() => void) => {
    this.#holders += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders -= 1;
      if (!this.#holders) setTimeout(() => this.#leaveIfUnheld(), 0);
    };
  };

  #leaveIfUnheld(): void {
    if (!this.#holders && this.#run) this.#leave(this.#run);
  }

  #ask(turn: LastTurn<Input>): Promise<MessageState | null> {
    this.#lastTurn = turn;
    const goesOn = turn.answers.length > 0 && this.#handler;
    const asked = this.#turn(turn);
    if (!goesOn) this.#handler = new MessageStreamHandler();
    const run = this.#begin(this.#handler as MessageStreamHandler);
    return this.#follow(run, async () => ({
      url: await givenBy(this.#options.url),
      options: { body: await (this.#options.body ?? defaultBody)(asked) },
    }));
  }

  #turn({ input, answers }: LastTurn<Input>): Turn<Input> {
    const messages = this.#messages;
    return { input, text: textOf(input), answers, threadId: this.#threadId, messages, history: historyOf(messages) };
  }

  /** An answer begins: it is shown at once, empty. */
  #begin(handler: MessageStreamHandler): Run {
    const run: Run = { handler, request: null, isLeft: false };
    this.#run = run;
    this.#answers = [];
    this.#error = null;
    this.#runUrl = null;
    this.#status = "submitted";
    this.#publisher.publish();
    return run;
  }

  async #follow(
    run: Run,
    prepare: () => Promise<{ url: string | URL; options: StreamRequestOptions }>,
  ): Promise<MessageState | null> {
    try {
      const { url, options } = await prepare();
      if (!run.isLeft) {
        run.request = streamRequest(url, { ...this.#requestOptions(run), ...options });
        for await (const event of run.request) {
          if (run.isLeft) break;
          this.#note(run);
          this.#status = "streaming";
          run.handler.handleEvent(event);
          this.#threadId = event.metadata.thread_id || this.#threadId;
          callSafely(this.#options.onEvent, event);
          if (!run.isLeft) this.#publisher.note();
        }
      }
    } catch (error) {
      if (!run.isLeft) this.#fail(run, asRequestError(error));
    }
    if (!run.isLeft) this.#finish(run);
    return this.#isEmpty(run) ? null : run.handler.message;
  }

  #requestOptions(run: Run): StreamRequestOptions {
    const { protocol, framing, timeouts, resume, fetchOptions } = this.#options;
    const headers = () => givenBy(this.#options.headers ?? {});
    return {
      headers,
      protocol,
      framing,
      timeouts,
      resume,
      fetchOptions,
      fetch: (...args) => (this.#options.fetch ?? fetch)(...args),
      normalize: this.#options.normalize?.(),
      onWarning: (data) => callSafely(this.#options.onWarning, data),
      onResponse: () => this.#note(run) && this.#publisher.note(),
      onReconnect: () => {
        this.#status = "reconnecting";
        this.#publisher.note();
      },
    };
  }

  /** Notes where the run can be read; true where that has changed. */
  #note({ request, isLeft }: Run): boolean {
    const runUrl = request?.runUrl ?? null;
    if (isLeft || runUrl === this.#runUrl) return false;
    this.#runUrl = runUrl;
    return true;
  }

  #fail(run: Run, error: StreamRequestError): void {
    this.#error = error;
    run.handler.fail(error);
    callSafely(this.#options.onError, error);
  }

  #finish(run: Run): void {
    const { message } = run.handler;
    this.#run = null;
    this.#runUrl = null;
    this.#status = this.#error ? "error" : message.status === "suspended" ? "suspended" : "idle";
    this.#publisher.publish();
    if (!this.#error && !this.#isEmpty(run)) callSafely(this.#options.onFinish, message);
  }

  /** Leaves a run: nothing of it appears from here on. */
  #leave(run: Run): void {
    run.isLeft = true;
    run.request?.cancel();
    run.handler.leave();
    this.#run = null;
    this.#status = "idle";
    this.#publisher.publish();
  }

  /** No event has come, and none is to come: of a run that is over there is nothing to show. */
  #isEmpty({ handler, request }: Run): boolean {
    return request?.response?.status === 204 && handler.message.metadata.startTime === null;
  }

  #made(before: AgentStreamState<Input> | null): AgentStreamState<Input> {
    this.#messages = this.#withAnswer();
    const pending = this.#pending();
    const isSame = before && same(before.pendingInteractions, pending);
    return {
      messages: this.#messages,
      status: this.#status,
      error: this.#error,
      threadId: this.#threadId,
      runUrl: this.#runUrl,
      pendingInteractions: isSame ? before.pendingInteractions : pending,
    };
  }

  #withAnswer(): Message<Input>[] {
    const answer = this.#handler?.message;
    if (!answer) return this.#messages;
    const place = this.#messages.findIndex(({ id }) => id === answer.id);
    if (!this.#run && answer.metadata.startTime === null && answer.status === null && !answer.hasError) {
      return place < 0 ? this.#messages : this.#messages.filter(({ id }) => id !== answer.id);
    }
    if (place >= 0 && this.#messages[place] === answer) return this.#messages;
    const messages = [...this.#messages];
    messages[place < 0 ? messages.length : place] = answer;
    return messages;
  }

  #pending(): DataOf<"interaction">[] {
    if (this.#status !== "suspended") return [];
    const latest = new Map<string, DataOf<"interaction">>();
    for (const asked of this.#handler?.message.interactions ?? []) latest.set(asked.interaction_id, asked);
    for (const { interaction_id } of this.#answers) latest.delete(interaction_id);
    return [...latest.values()].filter(({ state }) => state === "requested");
  }
}

const same = <T>(one: T[], other: T[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

function answerTo(asked: DataOf<"interaction">, value: unknown, action?: AnswerAction): InteractionAnswer {
  const isVerdict = asked.kind === "approval" && typeof value === "boolean";
  return {
    interaction_id: asked.interaction_id,
    action: action ?? (isVerdict ? (value ? "approve" : "reject") : "submit"),
    ...(value === undefined ? {} : { value }),
    ...(asked.resume === undefined ? {} : { resume: asked.resume }),
  };
}

function defaultBody({ input, text, answers, threadId }: Turn<unknown>): Record<string, unknown> {
  const thread = threadId === null ? {} : { thread_id: threadId };
  if (answers.length) return { ...thread, resume: answers };
  const { text: _, ...fields } = typeof input === "object" && input !== null ? (input as { text?: unknown }) : {};
  return { ...fields, message: text, ...thread };
}

function historyOf(messages: readonly Message<unknown>[]): Turn["history"] {
  return messages
    .filter(({ role, mainContent }) => role === "user" || mainContent)
    .map(({ role, mainContent }) => ({ role, content: mainContent }));
}

/** What a function of the page throws while a request is made is a failure like any other: no promise rejects. */
function asRequestError(error: unknown): StreamRequestError {
  if (error instanceof StreamRequestError) return error;
  return new StreamRequestError({ ...failureFields("INTERNAL"), kind: "connection_failed", cause: error });
}

/** Makes a conversation. Nothing is sent before `send`. */
export function createAgentStream<Input = DefaultInput>(options: AgentStreamOptions<Input>): AgentStream<Input> {
  return new Conversation(options);
}
