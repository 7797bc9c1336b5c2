import { describe, expect, test } from "vitest";
import { createRunFetch } from "../../src/fetch.js";
import { createAgentStream, parseStream, streamRequest } from "../../src/index.js";
import { answer, RUN_HEADERS, sse } from "../support/events.js";

const EVENTS = answer("A", "B", "C");

/** A fetch whose bodies never end, or break once, and that notes which of its requests are still open. */
function openRequests(pieces: (string | Error)[]) {
  const open = new Set<number>();
  let count = 0;
  let posts = 0;
  const send: typeof fetch = async (url, init) => {
    const number = count++;
    if (init?.method === "POST") posts += 1;
    if (String(url).endsWith("/cancel")) return new Response("{}");
    const signal = init?.signal as AbortSignal;
    if (signal.aborted) throw signal.reason;
    open.add(number);
    signal.addEventListener("abort", () => open.delete(number));
    await Promise.resolve();
    const left = pieces.splice(0);
    const body = new ReadableStream<Uint8Array>({
      cancel: () => void open.delete(number),
      pull(controller) {
        const piece = left.shift();
        if (piece instanceof Error) {
          open.delete(number);
          controller.error(piece);
        } else if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    const response = new Response(body, { headers: { "Content-Type": "text/event-stream", ...RUN_HEADERS } });
    Object.defineProperty(response, "url", { value: "http://127.0.0.1/chat" });
    return response;
  };
  return { open, send, posts: () => posts };
}

const frames = EVENTS.slice(0, 3).map((event, sequence) => sse(event, `x.${sequence}`));
const later = (turns: number): Promise<void> =>
  Array.from({ length: turns }).reduce<Promise<void>>((wait) => wait.then(() => {}), Promise.resolve());
const settled = () => new Promise((resolve) => setTimeout(resolve, 3));

describe("no request is left open, whichever turn of the loop leaves it", () => {
  for (const [name, leave] of [
    ["cancel", (stream: ReturnType<typeof streamRequest>) => stream.cancel()],
    ["return", (stream: ReturnType<typeof streamRequest>) => void stream.return()],
    ["a signal", (_: unknown, controller: AbortController) => controller.abort(new Error("mine"))],
  ] as const) {
    test(name, async () => {
      for (let turns = 0; turns < 60; turns++) {
        const { open, send } = openRequests([...frames, new Error("broke off")]);
        const controller = new AbortController();
        const stream = streamRequest("http://127.0.0.1/chat", {
          fetch: send,
          signal: controller.signal,
          headers: async () => ({ a: "b" }),
          resume: { delay: 0, maxDelay: 0 },
        });
        let end: unknown;
        const reading = (async () => {
          for await (const _ of stream);
        })().then(
          () => (end = "done"),
          (error: unknown) => (end = error),
        );
        await later(turns);
        leave(stream, controller);
        await Promise.race([reading, settled()]);
        await settled();
        expect([turns, [...open]]).toEqual([turns, []]);
        expect([turns, String(end)]).toEqual([turns, name === "a signal" ? "Error: mine" : "done"]);
        expect(await stream.next()).toEqual({ done: true, value: undefined });
      }
    });
  }

  test("reset of a conversation", async () => {
    for (let turns = 0; turns < 60; turns++) {
      const { open, send } = openRequests([...frames]);
      const stream = createAgentStream({ url: async () => "http://127.0.0.1/chat", fetch: send, throttle: 0 });
      const sent = stream.send("Hi");
      await later(turns);
      stream.reset();
      await sent;
      await settled();
      expect([turns, [...open], stream.getSnapshot()]).toMatchObject([turns, [], { messages: [], status: "idle" }]);
    }
  });
});

describe("no request of a followed body is left open", () => {
  for (const how of ["a signal", "a cancelled body"]) {
    test(how, async () => {
      for (let turns = 0; turns < 60; turns++) {
        const { open, send, posts } = openRequests([...frames, new Error("broke off")]);
        const runs = createRunFetch({ fetch: send, resume: { delay: 0, maxDelay: 0 } });
        const controller = new AbortController();
        const { signal } = controller;
        const reader = (await runs("http://127.0.0.1/chat", { method: "POST", signal })).body?.getReader();
        const reading = (async () => {
          while (!(await reader?.read())?.done);
        })().catch((error: unknown) => error);
        await later(turns);
        if (how === "a signal") controller.abort(new Error("mine"));
        else void reader?.cancel();
        expect([turns, String(await reading)]).toEqual([turns, how === "a signal" ? "Error: mine" : "undefined"]);
        await settled();
        expect([turns, [...open]]).toEqual([turns, []]);
        expect([turns, posts()]).toEqual([turns, how === "a signal" ? 2 : 1]);
      }
    });
  }
});

test("several reads that wait end together", async () => {
  const { send } = openRequests([frames[0] as string]);
  const stream = streamRequest("http://127.0.0.1/chat", { fetch: send });
  const reads = [stream.next(), stream.next(), stream.next()];
  await settled();
  stream.cancel();
  expect((await Promise.all(reads)).map(({ done }) => done)).toEqual([false, true, true]);
});

test("a body that is there already is cancelled where its reader leaves", async () => {
  let reason: unknown = "open";
  const body = new ReadableStream<string>({
    start: (controller) => controller.enqueue(frames.join("")),
    cancel: (why) => void (reason = why),
  });
  for await (const _ of parseStream(body)) break;
  expect(reason).toBeUndefined();
  let isReturned = false;
  async function* pieces() {
    try {
      for (const frame of frames) yield frame;
    } finally {
      isReturned = true;
    }
  }
  for await (const _ of parseStream(pieces())) break;
  await settled();
  expect(isReturned).toBe(true);
});
