import { afterEach, describe, expect, test, vi } from "vitest";
import { type AgentStreamState, createAgentStream, type MessageState } from "../../src/index.js";
import { answer, END, RUN, RUN_HEADERS, START, sse, text, wire } from "../support/events.js";
import { type Exchange, serve, until } from "../support/raw-server.js";

const whole =
  (...words: string[]) =>
  (exchange: Exchange) =>
    exchange.start().end(
      answer(...words)
        .map((event) => sse(event))
        .join(""),
    );
const asked = (id: string, state = "requested", more: object = {}) =>
  wire("interaction", { interaction_id: id, kind: "approval", state, ...more }, 2);
const suspended = (...ids: string[]) => [
  wire("session_start", { session_id: "s", request_id: "r", protocol: "1.1" }, 0, { thread_id: "th-1" }),
  text("May I? ", 1),
  ...ids.map((id) => asked(id, "requested", { resume: { token: id } })),
  wire("session_end", { status: "suspended", reason: "interaction" }, 9),
];
const send = (exchange: Exchange, events: object[]) => exchange.start().end(events.map((event) => sse(event)).join(""));
const bodies = (exchanges: Exchange[]) => exchanges.map(({ body }) => JSON.parse(body || "null"));
const last = ({ messages }: AgentStreamState) => messages.at(-1) as MessageState;

afterEach(() => vi.restoreAllMocks());

describe("a conversation", () => {
  test("sends, shows and goes on in its thread", async () => {
    const server = await serve((exchange) =>
      send(exchange, [
        wire("session_start", { session_id: "s", request_id: "r" }, 0, { thread_id: "th" }),
        text("A", 1),
        END(2),
      ]),
    );
    const finished = vi.fn();
    const stream = createAgentStream({ url: server.url, onFinish: finished });
    const done = stream.send({ text: "Hi", files: [1] });
    expect(stream.getSnapshot()).toMatchObject({
      status: "submitted",
      messages: [{ role: "user", mainContent: "Hi" }, { role: "assistant" }],
    });
    const message = await done;
    expect(message?.mainContent).toBe("A");
    expect(stream.getSnapshot()).toMatchObject({ status: "idle", threadId: "th", error: null, runUrl: null });
    expect(last(stream.getSnapshot())).toBe(message);
    expect(finished).toHaveBeenCalledExactlyOnceWith(message);
    await stream.send("Again");
    expect(bodies(server.exchanges)).toEqual([
      { files: [1], message: "Hi" },
      { message: "Again", thread_id: "th" },
    ]);
  });

  test("hands a body of one's own the turn", async () => {
    const server = await serve(whole("A"));
    const stream = createAgentStream({
      url: async () => server.url,
      headers: async () => ({ "X-Token": "t" }),
      threadId: "th",
      body: ({ history, text, threadId, answers, input }) => ({ history, text, threadId, answers, input }),
    });
    await stream.send("One");
    await stream.send("Two");
    expect(bodies(server.exchanges)[1]).toEqual({
      history: [
        { role: "user", content: "One" },
        { role: "assistant", content: "A" },
        { role: "user", content: "Two" },
      ],
      text: "Two",
      threadId: "th",
      answers: [],
      input: "Two",
    });
    expect(server.exchanges[0]?.header("x-token")).toBe("t");
  });

  test("send while one runs is null and changes nothing", async () => {
    const server = await serve((exchange) => exchange.start().write(sse(START)));
    const stream = createAgentStream({ url: server.url });
    void stream.send("One");
    const before = stream.getSnapshot();
    expect(await stream.send("Two")).toBeNull();
    expect(stream.getSnapshot()).toBe(before);
    await stream.stop();
  });

  test("a failed answer can be repeated, and leaves", async () => {
    const server = await serve((exchange) => exchange.start().end(sse(START) + sse(text("half", 1))), whole("whole"));
    const failed = vi.fn();
    const stream = createAgentStream({ url: server.url, onError: failed });
    const first = await stream.send("Hi");
    expect(first).toMatchObject({
      hasError: true,
      errorCode: "UPSTREAM_TRUNCATED",
      mainContent: "half",
      isStreaming: false,
    });
    expect(stream.getSnapshot()).toMatchObject({ status: "error", error: { kind: "stream_truncated" } });
    expect(failed).toHaveBeenCalledOnce();
    await stream.retry();
    expect(stream.getSnapshot().messages.map(({ mainContent }) => mainContent)).toEqual(["Hi", "whole"]);
    expect(bodies(server.exchanges)).toEqual([{ message: "Hi" }, { message: "Hi" }]);
    expect(stream.getSnapshot()).toMatchObject({ status: "idle", error: null });
  });

  test("no promise rejects, whatever the page's own functions throw", async () => {
    const reported = vi.spyOn(console, "error").mockImplementation(() => {});
    const stream = createAgentStream({
      url: "http://127.0.0.1:1/",
      headers: () => {
        throw new Error("secret");
      },
    });
    const message = await stream.send("Hi");
    expect(message).toMatchObject({ hasError: true, errorCode: "INTERNAL" });
    expect(JSON.stringify(stream.getSnapshot())).not.toContain("secret");
    const server = await serve(whole("A"));
    const loud = createAgentStream({
      url: server.url,
      onEvent: () => {
        throw new Error("in onEvent");
      },
      onFinish: () => Promise.reject(new Error("in onFinish")),
    });
    expect((await loud.send("Hi"))?.mainContent).toBe("A");
    await until(() => reported.mock.calls.length >= 4);
    expect(reported.mock.calls.map(([error]) => error.message)).toContain("in onEvent");
  });
});

describe("a suspended run", () => {
  test("waits for all answers, and goes on in the same message", async () => {
    const server = await serve(
      (exchange) => send(exchange, suspended("i1", "i2")),
      (exchange) => send(exchange, [START, asked("i1", "resolved"), text("Done.", 3), END(4)]),
    );
    const stream = createAgentStream({ url: server.url });
    const first = await stream.send("Hi");
    expect(stream.getSnapshot().status).toBe("suspended");
    expect(stream.getSnapshot().pendingInteractions.map(({ interaction_id }) => interaction_id)).toEqual(["i1", "i2"]);
    expect(await stream.respond("i1", true)).toBeNull();
    expect(stream.getSnapshot().pendingInteractions).toHaveLength(1);
    expect(await stream.respond("i1", true)).toBeNull();
    expect(server.exchanges).toHaveLength(1);
    const message = await stream.respond("i2", { note: "x" }, "submit");
    expect(bodies(server.exchanges)[1]).toEqual({
      thread_id: "th-1",
      resume: [
        { interaction_id: "i1", action: "approve", value: true, resume: { token: "i1" } },
        { interaction_id: "i2", action: "submit", value: { note: "x" }, resume: { token: "i2" } },
      ],
    });
    expect(message?.id).toBe(first?.id);
    expect(message?.mainContent).toMatch(/^May I\? \s*Done\.$/);
    expect(stream.getSnapshot()).toMatchObject({ status: "idle", pendingInteractions: [] });
    expect(stream.getSnapshot().messages).toHaveLength(2);
  });

  test("an answer that failed is repeated in its message", async () => {
    const server = await serve(
      (exchange) => send(exchange, suspended("i1")),
      (exchange) => exchange.start({}, "503 Busy").end(),
      (exchange) => send(exchange, [START, text("Yes.", 1), END(2)]),
    );
    const stream = createAgentStream({ url: server.url });
    await stream.send("Hi");
    await stream.respond("i1", false);
    expect(stream.getSnapshot().status).toBe("error");
    const message = await stream.retry();
    expect(message).toMatchObject({ hasError: false });
    expect(message?.mainContent).toContain("May I?");
    expect(stream.getSnapshot().messages).toHaveLength(2);
    expect(bodies(server.exchanges)[2]).toEqual(bodies(server.exchanges)[1]);
    expect(bodies(server.exchanges)[1].resume[0]).toMatchObject({ action: "reject" });
  });
});

describe("leaving", () => {
  const endless =
    (headers = {}) =>
    (exchange: Exchange) =>
      exchange.start(headers).write(sse(START, `${RUN}.0`) + sse(text("A", 1), `${RUN}.1`));

  test("stop is no error, and stops the run", async () => {
    const server = await serve(endless(RUN_HEADERS), (exchange) =>
      exchange.start({}, "200 OK", "application/json").end("{}"),
    );
    const stream = createAgentStream({ url: server.url });
    const done = stream.send("Hi");
    await until(() => stream.getSnapshot().runUrl !== null && last(stream.getSnapshot()).mainContent === "A");
    expect(stream.getSnapshot().status).toBe("streaming");
    await stream.stop();
    expect(await done).toMatchObject({ status: "cancelled", reason: "cancelled", hasError: false, isStreaming: false });
    expect(stream.getSnapshot()).toMatchObject({ status: "idle", error: null, runUrl: null });
    await server.exchanges[0]?.closed;
    expect(server.exchanges[1]?.path).toBe(`/-/runs/${RUN}/cancel`);
  });

  test("reset: nothing late appears", async () => {
    const server = await serve(endless());
    const stream = createAgentStream({ url: server.url, throttle: 0 });
    void stream.send("Hi");
    await until(() => stream.getSnapshot().status === "streaming");
    stream.reset();
    await server.exchanges[0]?.closed;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(stream.getSnapshot()).toMatchObject({ messages: [], status: "idle", threadId: null });
  });

  test("who is held by nobody for a task is left, not stopped", async () => {
    const server = await serve(endless(RUN_HEADERS));
    const stream = createAgentStream({ url: server.url });
    const release = stream.retain();
    void stream.send("Hi");
    await until(() => stream.getSnapshot().status === "streaming");
    release();
    const again = stream.retain();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(server.exchanges[0]?.isClosed).toBe(false);
    again();
    again();
    await server.exchanges[0]?.closed;
    expect(server.exchanges).toHaveLength(1);
  });

  test("a run is read from its start", async () => {
    const server = await serve(
      (exchange) =>
        exchange.start(RUN_HEADERS).end(
          answer("A", "B")
            .map((event) => sse(event))
            .join(""),
        ),
      (exchange) => exchange.end("HTTP/1.1 204 No Content\r\n\r\n"),
    );
    const stream = createAgentStream({ url: "http://127.0.0.1:1/" });
    expect((await stream.resume(`${server.origin}/-/runs/${RUN}`))?.mainContent).toBe("AB");
    expect(server.exchanges[0]?.method).toBe("GET");
    expect(await stream.resume(`${server.origin}/-/runs/${RUN}`)).toBeNull();
    expect(stream.getSnapshot().messages).toHaveLength(1);
  });

  test("reconnecting shows", async () => {
    const server = await serve(
      (exchange) => {
        exchange.startChunked(RUN_HEADERS).chunk(sse(START, `${RUN}.0`));
        setTimeout(() => exchange.destroy(), 100);
      },
      (exchange) =>
        exchange.start(RUN_HEADERS).end(
          answer("A")
            .map((event, index) => sse(event, `${RUN}.${index}`))
            .join(""),
        ),
    );
    const seen = new Set<string>();
    const stream = createAgentStream({ url: server.url, resume: { delay: 100 } });
    stream.subscribe(() => seen.add(stream.getSnapshot().status));
    expect((await stream.send("Hi"))?.mainContent).toBe("A");
    expect([...seen]).toEqual(["submitted", "streaming", "reconnecting", "idle"]);
  });
});

describe("telling", () => {
  test("at most once in so many milliseconds, and the snapshot never changes without it", async () => {
    const server = await serve((exchange) => {
      exchange.start().write(sse(START));
      let sequence = 0;
      const timer = setInterval(() => {
        exchange.write(sse(text("x", ++sequence)));
        if (sequence < 60) return;
        clearInterval(timer);
        exchange.end(sse(END(sequence + 1)));
      }, 3);
    });
    const stream = createAgentStream({ url: server.url, throttle: 50 });
    let told = 0;
    let known = stream.getSnapshot();
    stream.subscribe(() => {
      told += 1;
      known = stream.getSnapshot();
    });
    const done = stream.send("Hi");
    const watch = setInterval(() => expect(stream.getSnapshot()).toBe(known), 1);
    expect((await done)?.mainContent).toHaveLength(60);
    clearInterval(watch);
    expect(told).toBeLessThan(16);
    expect(last(known).mainContent).toHaveLength(60);
  });

  test("unchanged lists and parts stay the same objects", async () => {
    const call = wire("tool_call_start", { tool_id: "t", tool_name: "n", arguments: {} }, 1);
    const server = await serve((exchange) => send(exchange, [START, call, text("A", 2), text("B", 3), END(4)]));
    const seen: MessageState[] = [];
    const stream = createAgentStream({ url: server.url, throttle: 0, onEvent: () => {} });
    stream.subscribe(() => seen.push(last(stream.getSnapshot())));
    await stream.send("Hi");
    const [before, after] = seen.slice(-4, -2) as [MessageState, MessageState];
    expect(after).not.toBe(before);
    expect(after.toolCalls).toBe(before.toolCalls);
    expect(after.parts[0]).toBe(before.parts[0]);
    expect(after.metadata).toBe(before.metadata);
  });
});
