import { parseStreamLine } from "../events/parse-stream-line.js";
import { givenBy, type HeadersLike, mergedHeaders, type Source } from "../request/http.js";
import { BlockCutter, isTerminal } from "./block-cutter.js";
import { createRunFetch, type RunFetch } from "./run-fetch.js";

/** A chunk of a message, as AI SDK reads it. */
export interface ChatChunk {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the kit has a type of its own for chunks
  [field: string]: any;
}

export interface ChatTransportOptions {
  url: string | URL;
  /** One of this package's, with its storage; made if absent. */
  fetch?: RunFetch | undefined;
  headers?: Source<HeadersLike> | undefined;
  body?: Source<object> | undefined;
}

/** The options of a call by the kit. */
interface CallOptions {
  chatId: string;
  abortSignal?: AbortSignal | undefined;
  headers?: HeadersLike | undefined;
  body?: object | undefined;
}

/** The transport of a chat of AI SDK 5, 6 and 7. */
export interface ChatTransport {
  readonly resumeStreamIsReplay: true;
  // biome-ignore lint/suspicious/noExplicitAny: each version of the kit has its own types of messages and chunks
  sendMessages(options: any): Promise<ReadableStream<any>>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  reconnectToStream(options: any): Promise<ReadableStream<any> | null>;
}

const BROKE_OFF = "The answer broke off before it was complete. Please try again.";
const UNREACHABLE = "The service could not be reached. Please try again.";
const NOT_A_STREAM = "The service sent an answer that could not be understood.";

/** `useChat({ transport: createChatTransport({ url }) })`: a chat whose runs are followed, stopped and read again. */
export function createChatTransport(options: ChatTransportOptions): ChatTransport {
  const runs = options.fetch ?? createRunFetch();

  /** The headers of a request: those of the call over the transport's. */
  const headersOf = async (given: HeadersLike = {}): Promise<Headers> => {
    const headers = mergedHeaders({ "x-streamweir-protocol": "vercel-ui" }, await givenBy(options.headers ?? {}));
    new Headers(given as HeadersInit).forEach((value, name) => headers.set(name, value));
    return headers;
  };

  const ask = async (send: typeof fetch, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> => {
    try {
      return await send(options.url, { ...init, ...(signal && { signal }) });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new Error(UNREACHABLE, { cause });
    }
  };

  return {
    resumeStreamIsReplay: true,

    async sendMessages({
      chatId,
      messages,
      trigger,
      messageId,
      abortSignal,
      headers,
      body,
    }: CallOptions & Record<string, unknown>) {
      const fields = { ...(await givenBy(options.body ?? {})), ...(body as object | undefined) };
      const sent = { id: chatId, messages, trigger, ...(messageId === undefined ? {} : { messageId }), ...fields };
      const own = await headersOf(headers);
      own.set("content-type", "application/json");
      const init = { method: "POST", headers: own, body: JSON.stringify(sent) };
      return chunksOf(await accepted(await ask(runs as typeof fetch, init, abortSignal)), abortSignal);
    },

    async reconnectToStream({ chatId, abortSignal, headers }: CallOptions) {
      if (runs.runUrl(chatId) === null) return null;
      const own = await headersOf(headers);
      own.set("accept", "text/event-stream");
      const response = await ask(runs.reader(chatId), { headers: own }, abortSignal);
      return response.status === 204 ? null : chunksOf(await accepted(response), abortSignal);
    },
  };
}

/** The body of an answer that is a stream. Rejects with the message of a refusal. */
async function accepted(response: Response): Promise<ReadableStream<Uint8Array>> {
  const isStream = /^text\/event-stream/i.test(response.headers.get("content-type")?.trim() ?? "");
  if (response.ok && isStream && response.body) return response.body;
  throw new Error(messageIn(await response.text().catch(() => "")));
}

function messageIn(text: string): string {
  const { error } = (parseStreamLine(text.replace(/\s*\n\s*/g, " ")) ?? {}) as { error?: { message?: unknown } | null };
  return typeof error?.message === "string" && error.message ? error.message : NOT_A_STREAM;
}

/** The chunks of a body as objects. Where it breaks off for good the last one is an `error`. */
function chunksOf(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): ReadableStream<ChatChunk> {
  const reader = body.getReader();
  const cutter = new BlockCutter();
  let isOver = false;
  return new ReadableStream<ChatChunk>(
    {
      async pull(controller) {
        for (let hasGiven = false; !hasGiven; ) {
          const { done, value } = await reader.read().catch((error: unknown) => {
            if (signal?.aborted) throw error;
            return { done: true, value: undefined };
          });
          for (const { data } of done
            ? [cutter.finish()].flatMap((block) => block ?? [])
            : cutter.feed(value as Uint8Array)) {
            isOver ||= isTerminal(data);
            const chunk = parseStreamLine(data) as ChatChunk | null;
            if (chunk) controller.enqueue(chunk);
            isOver ||= chunk?.type === "error";
            hasGiven ||= chunk !== null;
          }
          if (!done) continue;
          if (!isOver) controller.enqueue({ type: "error", errorText: BROKE_OFF });
          return controller.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
