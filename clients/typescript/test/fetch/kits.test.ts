import { HttpAgent } from "@ag-ui/client";
import { AbstractChat, type ChatInit, type ChatState, type UIMessage } from "ai";
import { AbstractChat as AbstractChat5 } from "ai-5";
import { AbstractChat as AbstractChat7 } from "ai-7";
import { describe, expect, test } from "vitest";
import { createChatTransport, createRunFetch } from "../../src/fetch.js";
import { RUN, RUN_HEADERS } from "../support/events.js";
import { type Exchange, serve, until } from "../support/raw-server.js";

const RESUME = { attempts: 3, delay: 10, maxDelay: 40 };

/** Numbered frames of chunks, the last one without an id where it is `[DONE]`. */
const framed = (chunks: object[]) =>
  chunks.map((chunk, index) => `id: ${RUN}.${index}\ndata: ${JSON.stringify(chunk)}\n\n`);

const CHUNKS = framed([
  { type: "start", messageId: "m1" },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "Hel" },
  { type: "text-delta", id: "t", delta: "lo" },
  { type: "text-end", id: "t" },
  { type: "finish" },
]);
const DONE = "data: [DONE]\n\n";

const from =
  (frames: string[], tail = "") =>
  (exchange: Exchange) => {
    const last = Number(/\.(\d+)$/.exec(exchange.header("last-event-id") ?? "")?.[1] ?? -1);
    exchange.start(RUN_HEADERS).end(frames.slice(last + 1).join("") + tail);
  };
const breaksAfter = (frames: string[], count: number) => (exchange: Exchange) => {
  exchange.startChunked(RUN_HEADERS).chunk(`${frames.slice(0, count).join("")}data: {"type":"text-del`);
  setTimeout(() => exchange.destroy(), 30);
};
const running = (frames: string[], count: number) => (exchange: Exchange) =>
  exchange.start(RUN_HEADERS).write(frames.slice(0, count).join(""));
const stopped = (exchange: Exchange) => exchange.start({}, "200 OK", "application/json").end("{}");

/** A state for the kit's own chat, as its packages for frameworks have one. */
class State<M extends UIMessage> implements ChatState<M> {
  status: ChatState<M>["status"] = "ready";
  error: Error | undefined = undefined;
  constructor(public messages: M[] = []) {}
  pushMessage = (message: M) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: M) => {
    this.messages = this.messages.map((known, place) => (place === index ? message : known));
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

// biome-ignore lint/suspicious/noExplicitAny: the three versions have types of their own, and one shape
type AnyChat = any;
const kits: [string, AnyChat][] = [
  ["AI SDK 5", AbstractChat5],
  ["AI SDK 6", AbstractChat],
  ["AI SDK 7", AbstractChat7],
];
const textOf = (chat: AnyChat): string[] =>
  chat.messages.map(({ parts }: UIMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));

for (const [name, Kit] of kits) {
  class Chat extends Kit {
    constructor({ messages, ...init }: ChatInit<UIMessage>) {
      super({ ...init, state: new State(messages) });
    }
  }
  const chatAt = (url: string, runs = createRunFetch({ resume: RESUME }), messages: UIMessage[] = []): AnyChat =>
    new Chat({
      id: "c1",
      transport: createChatTransport({ url, fetch: runs, headers: async () => ({ "X-A": "a" }), body: { tenant: 1 } }),
      messages,
    });

  describe(name, () => {
    test("does not notice a break", async () => {
      const server = await serve(breaksAfter(CHUNKS, 3), from(CHUNKS, DONE));
      const chat = chatAt(server.url);
      await chat.sendMessage({ text: "Hi" });
      expect([textOf(chat), chat.status]).toEqual([["Hi", "Hello"], "ready"]);
      const [first] = server.exchanges;
      expect(JSON.parse(first?.body ?? "")).toMatchObject({
        id: "c1",
        trigger: "submit-message",
        tenant: 1,
        messages: [{ role: "user" }],
      });
      expect([first?.header("x-streamweir-protocol"), first?.header("x-a")]).toEqual(["vercel-ui", "a"]);
    });

    test("stops the agent", async () => {
      const server = await serve(running(CHUNKS, 3), stopped);
      const chat = chatAt(server.url);
      const sent = chat.sendMessage({ text: "Hi" });
      await until(() => textOf(chat)[1] === "Hel");
      await chat.stop();
      await sent;
      await server.requests(2);
      expect(server.exchanges[1]?.path).toBe(`/-/runs/${RUN}/cancel`);
      expect(chat.status).toBe("ready");
    });

    test("reads its answer again after a reload, once", async () => {
      const server = await serve(running(CHUNKS, 3), from(CHUNKS, DONE));
      const items = new Map<string, string>();
      const storage = {
        getItem: (key: string) => items.get(key) ?? null,
        setItem: (key: string, value: string) => void items.set(key, value),
        removeItem: (key: string) => void items.delete(key),
      };
      const before = chatAt(server.url, createRunFetch({ storage, resume: RESUME }));
      void before.sendMessage({ text: "Hi" });
      await until(() => textOf(before)[1] === "Hel");
      const after = chatAt(server.url, createRunFetch({ storage, resume: RESUME }), before.messages.slice(0, 1));
      await after.resumeStream();
      expect([textOf(after), after.status]).toEqual([["Hi", "Hello"], "ready"]);
      expect(items.size).toBe(0);
      await after.resumeStream();
      expect(server.exchanges).toHaveLength(2);
    });

    test("stops an answer that is being read again", async () => {
      const server = await serve(running(CHUNKS, 3), running(CHUNKS, 3), stopped);
      const runs = createRunFetch({ resume: RESUME });
      const before = chatAt(server.url, runs);
      void before.sendMessage({ text: "Hi" });
      await until(() => textOf(before)[1] === "Hel");
      const after = chatAt(server.url, runs, before.messages.slice(0, 1));
      const resumed = after.resumeStream();
      await until(() => textOf(after)[1] === "Hel");
      await after.stop();
      await resumed;
      await server.requests(3);
      expect(server.exchanges[2]?.path).toBe(`/-/runs/${RUN}/cancel`);
    });

    test("shows what a refusal says", async () => {
      const body = '{"status":"error","error":{"code":"OVERLOADED","message":"The service is busy.","retry":true}}';
      const server = await serve((exchange) => exchange.start({}, "503 Busy", "application/json").end(body));
      const chat = chatAt(server.url);
      await chat.sendMessage({ text: "Hi" });
      expect([chat.status, chat.error?.message]).toEqual(["error", "The service is busy."]);
    });

    test("is told where an answer broke off for good", async () => {
      const server = await serve(breaksAfter(CHUNKS, 3), (exchange) => exchange.start({}, "404 Not Found").end());
      const chat = chatAt(server.url);
      await chat.sendMessage({ text: "Hi" });
      expect([chat.status, chat.error?.message]).toEqual([
        "error",
        "The answer broke off before it was complete. Please try again.",
      ]);
      const plain = await serve((exchange) => exchange.start().end(CHUNKS.slice(0, 3).join("")));
      const other = chatAt(plain.url);
      await other.sendMessage({ text: "Hi" });
      expect(other.status).toBe("error");
      await plain.close();
      await other.regenerate();
      expect(other.error?.message).toBe("The service could not be reached. Please try again.");
    });
  });
}

describe("AG-UI's HttpAgent", () => {
  const EVENTS = framed([
    { type: "RUN_STARTED", threadId: "th", runId: "r" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Hel" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "lo" },
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", threadId: "th", runId: "r" },
  ]);
  const agentAt = (url: string, runs: typeof fetch) =>
    new HttpAgent({ url, threadId: "th", fetch: runs as HttpAgent["fetch"] });

  test("does not notice a break", async () => {
    const server = await serve(breaksAfter(EVENTS, 3), from(EVENTS));
    const agent = agentAt(server.url, createRunFetch({ protocol: "ag-ui", resume: RESUME }) as typeof fetch);
    const { newMessages } = await agent.runAgent();
    expect(newMessages).toMatchObject([{ role: "assistant", content: "Hello" }]);
    expect(server.exchanges[0]?.header("x-streamweir-protocol")).toBe("ag-ui");
  });

  test("stops the agent", async () => {
    const server = await serve(running(EVENTS, 3), stopped);
    const agent = agentAt(server.url, createRunFetch() as typeof fetch);
    const run = agent.runAgent().catch(() => {});
    await until(() => agent.messages[0]?.content === "Hel");
    agent.abortRun();
    await run;
    await server.requests(2);
    expect(server.exchanges[1]?.path).toBe(`/-/runs/${RUN}/cancel`);
  });

  test("reads its run again after a reload", async () => {
    const server = await serve(running(EVENTS, 3), from(EVENTS));
    const runs = createRunFetch({ resume: RESUME });
    const before = agentAt(server.url, runs as typeof fetch);
    void before.runAgent().catch(() => {});
    await until(() => before.messages[0]?.content === "Hel");
    const after = agentAt(server.url, runs.reader("th"));
    await after.runAgent();
    expect(after.messages).toMatchObject([{ content: "Hello" }]);
    expect(server.exchanges[1]?.method).toBe("GET");
  });
});
