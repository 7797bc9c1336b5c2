import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { createRunFetch } from "../../src/fetch.js";
import { RUN, RUN_HEADERS, rejection } from "../support/events.js";
import { type Exchange, serve, until } from "../support/raw-server.js";

const RESUME = { attempts: 3, delay: 10, maxDelay: 40 };
const FRAMES = ["a", "b", "c", "d"].map(
  (word, index) => `id: ${RUN}.${index}\ndata: {"type":"text","word":"${word}"}\n\n`,
);
const FINISH = `id: ${RUN}.4\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n`;
const WHOLE = FRAMES.join("") + FINISH;
const body = '{"id":"chat-1"}';

const breaks =
  (frames: string, half = "") =>
  (exchange: Exchange) => {
    exchange.startChunked(RUN_HEADERS).chunk(frames + half);
    setTimeout(() => exchange.destroy(), 30);
  };
const rest = (exchange: Exchange) => {
  const last = Number(/\.(\d+)$/.exec(exchange.header("last-event-id") ?? "")?.[1] ?? -1);
  exchange.start(RUN_HEADERS).end(FRAMES.slice(last + 1).join("") + FINISH);
};
const ends = (status: string) => (exchange: Exchange) =>
  exchange.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
const running = (exchange: Exchange) => exchange.start(RUN_HEADERS).write(FRAMES[0] as string);

describe("a run that is followed", () => {
  test("is whole, byte for byte, wherever it breaks", async () => {
    for (const half of ["", "id: x", `id: ${RUN}.2\ndata: {"type":"text"`, `${(FRAMES[2] as string).trimEnd()}\n`]) {
      const server = await serve(breaks(FRAMES.slice(0, 2).join(""), half), rest);
      const runs = createRunFetch({ protocol: "vercel-ui", resume: RESUME });
      const response = await runs(server.url, { method: "POST", body, headers: { Authorization: "x" } });
      expect(response.url).toBe(server.url);
      expect(response.headers.get("x-request-id")).toBe("req_server");
      expect(await response.text()).toBe(WHOLE);
      const [first, second] = server.exchanges;
      expect(first?.header("x-streamweir-protocol")).toBe("vercel-ui");
      expect([second?.method, second?.path, second?.header("last-event-id")]).toEqual([
        "GET",
        `/-/runs/${RUN}`,
        // a last block whose data is whole counts without its blank line
        half.endsWith("}\n") ? `${RUN}.2` : `${RUN}.1`,
      ]);
      expect([second?.header("authorization"), second?.header("x-streamweir-protocol")]).toEqual(["x", "vercel-ui"]);
    }
  });

  test("with CRLF and cut anywhere", async () => {
    const bytes = Buffer.from(WHOLE.replaceAll("\n", "\r\n"));
    for (const size of [1, 3, 50]) {
      const server = await serve(async (exchange) => {
        exchange.start(RUN_HEADERS);
        for (let at = 0; at < bytes.length; at += size) {
          exchange.write(bytes.subarray(at, at + size));
          if (at % 40 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        exchange.end();
      });
      const response = await createRunFetch({ resume: RESUME })(server.url, { method: "POST", body });
      expect(await response.text()).toBe(bytes.toString());
    }
  });

  test("ends where the run has ended", async () => {
    const server = await serve((exchange) => exchange.start(RUN_HEADERS).end(FRAMES.join("")), ends("204 No Content"));
    const runs = createRunFetch({ resume: RESUME });
    const response = await runs(server.url, { method: "POST", body });
    expect(runs.runUrl("chat-1")).toBe(`${server.origin}/-/runs/${RUN}`);
    expect(await response.text()).toBe(FRAMES.join(""));
    expect(runs.runUrl("chat-1")).toBeNull();
  });

  test("ends behind its terminal frame, though the server keeps the connection", async () => {
    const server = await serve((exchange) => exchange.start(RUN_HEADERS).write(WHOLE));
    const response = await createRunFetch()(server.url, { method: "POST", body });
    expect(await response.text()).toBe(WHOLE);
    await server.exchanges[0]?.closed;
  });

  test("fails as it would have, given up", async () => {
    const server = await serve(breaks(FRAMES[0] as string), ends("404 Not Found"));
    const runs = createRunFetch({ resume: RESUME });
    const response = await runs(server.url, { method: "POST", body });
    expect(await rejection(response.text())).toBeInstanceOf(TypeError);
    expect(runs.runUrl("chat-1")).toBeNull();
    const off = await serve(breaks(FRAMES[0] as string));
    const other = await createRunFetch({ resume: false })(off.url, { method: "POST", body });
    expect(await rejection(other.text())).toBeInstanceOf(TypeError);
    expect(off.exchanges).toHaveLength(1);
  });
});

test("what is no run is handed on as it came", async () => {
  const server = await serve((exchange) => exchange.start({}, "200 OK", "application/json").end('{"a":1}'));
  const runs = createRunFetch();
  expect(await (await runs(server.url, { method: "POST", body })).json()).toEqual({ a: 1 });
  expect(await (await runs(new Request(server.url, { method: "POST", body }))).json()).toEqual({ a: 1 });
  expect(runs.runUrl("chat-1")).toBeNull();
  expect(server.exchanges[1]?.body).toBe(body);
});

describe("leaving", () => {
  test("a signal stops the run, a cancelled body leaves it", async () => {
    const server = await serve(running, ends("200 OK"));
    const controller = new AbortController();
    const runs = createRunFetch();
    const response = await runs(server.url, {
      method: "POST",
      body,
      signal: controller.signal,
      headers: { Authorization: "x" },
    });
    const failed = rejection(response.text());
    await new Promise((resolve) => setTimeout(resolve, 30));
    controller.abort();
    expect(await failed).toMatchObject({ name: "AbortError" });
    await server.requests(2);
    expect([server.exchanges[1]?.method, server.exchanges[1]?.path]).toEqual(["POST", `/-/runs/${RUN}/cancel`]);
    expect(server.exchanges[1]?.header("authorization")).toBe("x");
    await server.exchanges[0]?.closed;
    expect(runs.runUrl("chat-1")).toBeNull();

    const left = await serve(running);
    const kept = createRunFetch();
    const reader = (await kept(left.url, { method: "POST", body })).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await left.exchanges[0]?.closed;
    expect(left.exchanges).toHaveLength(1);
    expect(kept.runUrl("chat-1")).not.toBeNull();
  });

  test("stopOnAbort: false only leaves", async () => {
    const server = await serve(running);
    const controller = new AbortController();
    const runs = createRunFetch({ stopOnAbort: false });
    const response = await runs(server.url, { method: "POST", body, signal: controller.signal });
    controller.abort();
    await rejection(response.text());
    await server.exchanges[0]?.closed;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.exchanges).toHaveLength(1);
    expect(runs.runUrl("chat-1")).not.toBeNull();
  });
});

describe("a run that is kept", () => {
  test("is read again from its start, whatever the fetch is called with", async () => {
    const server = await serve(running, rest, rest);
    const items = new Map<string, string>();
    const storage = {
      getItem: (name: string) => items.get(name) ?? null,
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    };
    const reader = (await createRunFetch({ storage })(server.url, { method: "POST", body })).body?.getReader();
    await reader?.cancel();
    expect([...items.values()]).toEqual([`${server.origin}/-/runs/${RUN}`]);
    const reloaded = createRunFetch({ storage });
    const read = reloaded.reader("chat-1");
    const response = await read(server.url, {
      method: "POST",
      body: "{}",
      headers: { "Content-Type": "application/json" },
    });
    expect(await response.text()).toBe(WHOLE);
    expect([
      server.exchanges[1]?.method,
      server.exchanges[1]?.path,
      server.exchanges[1]?.header("content-type"),
    ]).toEqual(["GET", `/-/runs/${RUN}`, null]);
    expect(items.size).toBe(0);
    expect((await reloaded.reader("chat-1")(server.url)).status).toBe(204);
    await (await read(server.url, { method: "POST", body })).text();
    expect(server.exchanges[2]?.method).toBe("POST");
  });

  test("is stopped or forgotten by its key", async () => {
    const server = await serve(running, ends("200 OK"));
    const runs = createRunFetch({ key: (url, init) => `${new URL(url).pathname} ${init?.method}` });
    await runs(server.url, { method: "POST" });
    expect(runs.runUrl("/chat POST")).not.toBeNull();
    await runs.stop("/chat POST");
    expect(server.exchanges[1]?.path).toBe(`/-/runs/${RUN}/cancel`);
    expect(runs.runUrl("/chat POST")).toBeNull();
    runs.forget("/chat POST");
    await runs.stop("none");
  });

  test("a storage that throws costs nothing", async () => {
    const fail = () => {
      throw new Error("full");
    };
    const server = await serve((exchange) => exchange.start(RUN_HEADERS).end(WHOLE));
    const runs = createRunFetch({ storage: { getItem: fail, setItem: fail, removeItem: fail } });
    expect(await (await runs(server.url, { method: "POST", body })).text()).toBe(WHOLE);
    expect(runs.runUrl("chat-1")).toBeNull();
  });
});

test("the OpenAI SDK does not notice a break", async () => {
  const chunk = (content: string, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
  const frames = ["Hel", "lo", "!"].map(
    (word, index) => `id: ${RUN}.${index}\n${chunk(word, index === 2 ? "stop" : null)}`,
  );
  const server = await serve(breaks(frames[0] as string, "data: {"), (exchange) =>
    exchange.start(RUN_HEADERS).end(`${frames.slice(1).join("")}data: [DONE]\n\n`),
  );
  const client = new OpenAI({
    apiKey: "k",
    baseURL: server.origin,
    fetch: createRunFetch({ resume: RESUME }),
    maxRetries: 0,
  });
  const stream = await client.chat.completions.create({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    stream: true,
  });
  let text = "";
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
  expect(text).toBe("Hello!");
  expect(server.exchanges[1]?.header("authorization")).toBe("Bearer k");
});

test("the OpenAI SDK's abort stops the run", async () => {
  const server = await serve(running, ends("200 OK"));
  const client = new OpenAI({ apiKey: "k", baseURL: server.origin, fetch: createRunFetch(), maxRetries: 0 });
  const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
  stream.controller.abort();
  await server.requests(2);
  await until(() => server.exchanges[1]?.path === `/-/runs/${RUN}/cancel`);
});
