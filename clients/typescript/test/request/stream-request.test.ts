import { gzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { parseStream, type StreamEvent, StreamRequestError, streamRequest } from "../../src/index.js";
import { createPatience } from "../../src/request/patience.js";
import { all, answer, END, line, rejection, START, sse, text, textIn, wire } from "../support/events.js";
import { serve, until } from "../support/raw-server.js";

const failureOf = async (events: AsyncIterable<StreamEvent>): Promise<StreamRequestError> => {
  const error = await rejection(all(events));
  expect(error).toBeInstanceOf(StreamRequestError);
  return error as StreamRequestError;
};

describe("a whole stream", () => {
  test("gives its events, and the request that was sent", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(
        answer("Hel", "lo")
          .map((event) => sse(event))
          .join(""),
      ),
    );
    const stream = streamRequest(server.url, {
      body: { message: "Hi" },
      headers: { "X-Tenant": "a" },
      protocol: "standard",
    });
    expect(server.exchanges).toHaveLength(0);
    const events = await all(stream);
    expect(textIn(events)).toBe("Hello");
    expect(events.map(({ type }) => type)).toEqual(["session_start", "content", "content", "session_end"]);
    const [exchange] = await server.requests(1);
    expect(exchange?.method).toBe("POST");
    expect(JSON.parse(exchange?.body ?? "")).toEqual({ message: "Hi" });
    expect(exchange?.header("content-type")).toBe("application/json");
    expect(exchange?.header("accept")).toBe("text/event-stream");
    expect(exchange?.header("x-tenant")).toBe("a");
    expect(exchange?.header("x-streamweir-protocol")).toBe("standard");
    expect(exchange?.header("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(stream.requestId).toBe("req_server");
    expect(stream.response?.status).toBe(200);
  });

  const body = answer("Grüße, ", "世界 ", "👩‍👩‍👧 ", "\u2028\u0085")
    .map((event) => sse(event))
    .join("");
  const wanted = "Grüße, 世界 👩‍👩‍👧 \u2028\u0085";
  for (const [name, bytes] of Object.entries({
    LF: body,
    CRLF: body.replaceAll("\n", "\r\n"),
    CR: body.replaceAll("\n", "\r"),
    "a BOM": `\uFEFF${body}`,
    "comments and unknown fields": body.replaceAll("\n\n", "\n: ping\nfoo: bar\n\n: ping\n"),
    NDJSON: answer("Grüße, ", "世界 ", "👩‍👩‍👧 ", "\u2028\u0085").map(line).join("\n"),
    "no line end at the end": body.trimEnd(),
    "data without a space": body.replaceAll("data: ", "data:"),
    "[DONE] behind it": `${body}data: [DONE]\n\n`,
  })) {
    test(`${name}, byte by byte and whole`, async () => {
      const encoded = new TextEncoder().encode(bytes);
      for (const size of [1, 2, 3, 7, encoded.length]) {
        async function* pieces() {
          for (let at = 0; at < encoded.length; at += size) yield encoded.subarray(at, at + size);
        }
        expect(textIn(await all(parseStream(pieces())))).toBe(wanted);
      }
    });
  }

  test("a failure of a body that is there already has no HTTP status", async () => {
    async function* half() {
      yield sse(START);
    }
    expect(await failureOf(parseStream(half()))).toMatchObject({ kind: "stream_truncated", status: null });
  });

  test("printed JSON over several data lines is one event", async () => {
    const printed = answer("A")
      .map((event) => `data: ${JSON.stringify(event, null, 1).replaceAll("\n", "\ndata: ")}\n\n`)
      .join("");
    const server = await serve((exchange) => exchange.start().end(printed));
    expect(textIn(await all(streamRequest(server.url)))).toBe("A");
  });

  test("gzip is undone", async () => {
    const zipped = gzipSync(
      answer("A", "B")
        .map((event) => sse(event))
        .join(""),
    );
    const server = await serve((exchange) => exchange.start({ "Content-Encoding": "gzip" }).end(zipped));
    expect(textIn(await all(streamRequest(server.url)))).toBe("AB");
  });

  test("six megabytes in one event", async () => {
    const long = "x".repeat(6 * 1024 * 1024);
    const server = await serve((exchange) =>
      exchange.start().end(
        answer(long)
          .map((event) => sse(event))
          .join(""),
      ),
    );
    const began = performance.now();
    expect(textIn(await all(streamRequest(server.url)))).toHaveLength(long.length);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("the connection is closed at session_end, whatever the server does", async () => {
    const server = await serve((exchange) => {
      exchange.start();
      for (const event of answer("A")) exchange.write(sse(event));
      exchange.write(sse(text("late", 9)));
    });
    expect(textIn(await all(streamRequest(server.url)))).toBe("A");
    await (await server.requests(1))[0]?.closed;
  });

  test("a GET that is answered with 204 is empty", async () => {
    const server = await serve((exchange) => exchange.end("HTTP/1.1 204 No Content\r\n\r\n"));
    expect(await all(streamRequest(server.url, { method: "GET" }))).toEqual([]);
  });

  test("bodies go out as they are, or as JSON", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(
        answer()
          .map((event) => sse(event))
          .join(""),
      ),
    );
    const form = new FormData();
    form.set("a", "1");
    for (const body of [
      "plain",
      new URLSearchParams({ a: "1" }),
      form,
      new Blob(["blob"]),
      new Uint8Array([104, 105]),
      [1],
    ]) {
      await all(streamRequest(server.url, { body }));
    }
    const bodies = server.exchanges.map((exchange) => exchange.body);
    expect([bodies[0], bodies[1], bodies[3], bodies[4], bodies[5]]).toEqual(["plain", "a=1", "blob", "hi", "[1]"]);
    expect(bodies[2]).toContain('name="a"');
  });

  test("own headers win, and a null request id is not sent", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(
        answer()
          .map((event) => sse(event))
          .join(""),
      ),
    );
    await all(streamRequest(server.url, { requestId: null, headers: new Headers({ accept: "x/y" }) }));
    await all(streamRequest(server.url, { headers: [["X-Request-Id", "mine"]] }));
    expect(server.exchanges[0]?.header("x-request-id")).toBeNull();
    expect(server.exchanges[0]?.header("accept")).toBe("x/y");
    expect(server.exchanges[1]?.header("x-request-id")).toBe("mine");
  });
});

describe("what is no event", () => {
  const broken = (count: number) => "data: {broken\n\n".repeat(count);

  test("a malformed event is a warning, and the stream goes on", async () => {
    const warnings: string[] = [];
    const body = sse(START) + broken(2) + sse(text("A", 1)) + sse(END(2));
    const server = await serve((exchange) => exchange.start().end(body));
    const events = await all(
      streamRequest(server.url, { onWarning: ({ message_code }) => warnings.push(message_code ?? "") }),
    );
    expect(events.map(({ type }) => type)).toEqual(["session_start", "warning", "warning", "content", "session_end"]);
    expect(warnings).toEqual(["UPSTREAM_MALFORMED_EVENT", "UPSTREAM_MALFORMED_EVENT"]);
  });

  test("of many ten are told one by one, the others at the end", async () => {
    const server = await serve((exchange) => exchange.start().end(sse(START) + broken(50) + sse(END(1))));
    const events = await all(streamRequest(server.url));
    const warnings = events.filter(({ type }) => type === "warning");
    expect(warnings).toHaveLength(11);
    expect(JSON.stringify(warnings.at(-1))).toContain("40 more");
  });

  test("more than a hundred end the stream", async () => {
    const server = await serve((exchange) => exchange.start().write(sse(START) + broken(101)));
    const error = await failureOf(streamRequest(server.url));
    expect([error.kind, error.code, error.reason]).toEqual(["stream_failed", "STREAM_LIMIT_EXCEEDED", "malformed"]);
    await server.exchanges[0]?.closed;
  });

  test("an event larger than allowed ends the stream", async () => {
    const server = await serve((exchange) =>
      exchange
        .start()
        .write(sse(START))
        .write(`data: "${"x".repeat(5000)}`),
    );
    const error = await failureOf(streamRequest(server.url, { maxEventSize: 1000 }));
    expect([error.kind, error.code, error.reason]).toEqual(["stream_failed", "STREAM_LIMIT_EXCEEDED", "limit"]);
    await server.exchanges[0]?.closed;
  });

  test("unknown types and data that do not fit are kept", async () => {
    const odd = [
      wire("hologram", { beam: 1 }, 1),
      wire("content", { text: 1 }, 2),
      wire("data", { data_type: "dataframe", data: {} }, 3),
    ];
    const server = await serve((exchange) =>
      exchange.start().end([START, ...odd, END(4)].map((event) => sse(event)).join("")),
    );
    const events = await all(streamRequest(server.url));
    expect(events.slice(1, 4).map(({ type, data }) => [type, (data as { type: string }).type])).toEqual([
      ["unknown", "hologram"],
      ["unknown", "content"],
      ["unknown", "data"],
    ]);
  });

  for (const [name, body, type] of [
    ["markup", "<!doctype html><html></html>", "text/html"],
    ["foreign JSON", '{"choices": []}', "application/json"],
    ["text", "Internal Server Error\n", "text/plain"],
    ["an image", "\x89PNG", "image/png"],
  ] as const) {
    test(`${name} is no stream`, async () => {
      const server = await serve((exchange) => exchange.start({}, "200 OK", type).end(body));
      const error = await failureOf(streamRequest(server.url));
      expect([error.kind, error.code, error.status]).toEqual(["stream_failed", "UPSTREAM_INVALID_RESPONSE", 200]);
    });
  }
});

describe("failures", () => {
  test("nobody listens", async () => {
    const server = await serve(() => {});
    const { url } = server;
    await server.close();
    const error = await failureOf(streamRequest(url));
    expect([error.kind, error.code, error.status, error.recoverable]).toEqual([
      "connection_failed",
      "UPSTREAM_UNREACHABLE",
      null,
      true,
    ]);
    expect(error.message).not.toMatch(/fetch|ECONN/i);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("a refusal says its code, its message and when to come back", async () => {
    const body = '{"status":"error","error":{"code":"OVERLOADED","message":"Busy.","retry":true},"request_id":"req_x"}';
    const server = await serve((exchange) =>
      exchange.start({ "Retry-After": "3" }, "503 Busy", "application/json").end(body),
    );
    const error = await failureOf(streamRequest(server.url));
    expect(error).toMatchObject({
      kind: "request_rejected",
      code: "OVERLOADED",
      message: "Busy.",
      recoverable: true,
      retryAfterMs: 3000,
      status: 503,
    });
    expect(error.requestId).toBe("req_server");
  });

  test("a refusal whose body never ends is read for two seconds", async () => {
    const server = await serve((exchange) => exchange.start({}, "500 Oh", "text/plain").write("x"));
    const began = performance.now();
    expect((await failureOf(streamRequest(server.url))).code).toBe("UPSTREAM_ERROR");
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("an envelope with 200 is a refusal too", async () => {
    const body = '{\n "status": "error",\n "error": {"code": "BAD_REQUEST", "message": "No.", "retry": false}\n}';
    const server = await serve((exchange) => exchange.start({}, "200 OK", "application/json").end(body));
    expect(await failureOf(streamRequest(server.url))).toMatchObject({
      kind: "request_rejected",
      code: "BAD_REQUEST",
      message: "No.",
      status: 200,
    });
  });

  test("a terminal error is thrown in its place, with the reason of its end", async () => {
    const failed = wire(
      "error",
      {
        error_type: "execution",
        code: "RATE_LIMITED",
        message: "Wait.",
        recoverable: true,
        terminal: true,
        retry_after_ms: 500,
      },
      2,
    );
    const end = wire("session_end", { status: "error", reason: "limit" }, 3);
    const server = await serve((exchange) =>
      exchange.start().end([START, text("A", 1), failed, end].map((event) => sse(event)).join("")),
    );
    const seen: StreamEvent[] = [];
    const error = (await rejection(
      (async () => {
        for await (const event of streamRequest(server.url)) seen.push(event);
      })(),
    )) as StreamRequestError;
    expect(textIn(seen)).toBe("A");
    expect(error).toMatchObject({
      kind: "stream_failed",
      code: "RATE_LIMITED",
      message: "Wait.",
      retryAfterMs: 500,
      reason: "limit",
    });
  });

  test("a body that ends or breaks without session_end is truncated, never silent", async () => {
    const half = `${sse(START)}${sse(text("A", 1))}data: {"type":"content","data":{"content":"B`;
    const ends = await serve((exchange) => exchange.start().end(half));
    expect(await failureOf(streamRequest(ends.url))).toMatchObject({
      kind: "stream_truncated",
      code: "UPSTREAM_TRUNCATED",
    });
    const breaks = await serve((exchange) => {
      exchange.startChunked().chunk(half);
      setTimeout(() => exchange.destroy(), 50);
    });
    expect(await failureOf(streamRequest(breaks.url))).toMatchObject({
      kind: "stream_truncated",
      code: "UPSTREAM_TRUNCATED",
    });
    const empty = await serve((exchange) => exchange.start().end());
    expect(await failureOf(streamRequest(empty.url))).toMatchObject({ kind: "stream_truncated" });
  });

  test("with throwErrors: false each failure arrives as events", async () => {
    const server = await serve((exchange) => exchange.start().end(sse(START) + sse(text("A", 1))));
    const events = await all(streamRequest(server.url, { throwErrors: false }));
    expect(events.map(({ type }) => type)).toEqual(["session_start", "content", "error", "session_end"]);
    expect(events.at(-1)?.data).toEqual({ status: "error", reason: "truncated" });
    const { url } = server;
    await server.close();
    expect((await all(streamRequest(url, { throwErrors: false }))).map(({ type }) => type)).toEqual([
      "error",
      "session_end",
    ]);
  });

  test("an end that says error without one before it fails", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(sse(START) + sse(wire("session_end", { status: "error" }, 1))),
    );
    expect(await failureOf(streamRequest(server.url))).toMatchObject({ kind: "stream_failed", code: "UPSTREAM_ERROR" });
  });

  test("an error that has only a code gets a sentence and whether it may be tried again", async () => {
    const final = "INVALID_RESPONSE REJECTED".split(" ").map((word) => `UPSTREAM_${word}`);
    final.push(..."AUTH_FAILED NOT_FOUND MODEL_NOT_FOUND CONTEXT_LENGTH_EXCEEDED CONTENT_FILTERED".split(" "));
    final.push(..."QUOTA_EXCEEDED STREAM_LIMIT_EXCEEDED".split(" "));
    const temporary = "ERROR TIMEOUT UNREACHABLE TRUNCATED".split(" ").map((word) => `UPSTREAM_${word}`);
    temporary.push(..."RATE_LIMITED CANCELLED GATEWAY_DRAINING RUN_LOST STORE_UNAVAILABLE INTERNAL".split(" "));
    for (const code of [...final, ...temporary]) {
      const body = [START, wire("error", { code, terminal: true }, 1)].map((event) => sse(event)).join("");
      const { data } = (await all(parseStream(new Response(body).body as never, { throwErrors: false })))[1] ?? {};
      const isTemporary = temporary.includes(code);
      expect(data, code).toMatchObject({
        code,
        recoverable: isTemporary,
        message: expect.stringMatching(/^[A-Z].+\.$/),
      });
      const says = code === "CANCELLED" ? /^The run was stopped on request\.$/ : /again\.$/;
      expect(says.test(String((data as { message: string }).message)), code).toBe(isTemporary);
    }
  });

  test("protocol 1.0 is filled in", async () => {
    const old = [
      { type: "session_start", data: { session_id: "s", request_id: "r" } },
      { type: "tool_call_start", data: { tool_id: "t", tool_name: "n" } },
      { type: "tool_call_end", data: { tool_id: "t" } },
      { type: "content", data: { content: "A", is_complete: false } },
      { type: "error", data: { error_type: "timeout", message: "Slow.", recoverable: true } },
      { type: "session_end", data: { status: "completed", summary: { total_tokens: 3 } } },
    ];
    const server = await serve((exchange) => exchange.start().end(old.map((event) => sse(event)).join("")));
    const events = await all(streamRequest(server.url));
    expect(events.map(({ type }) => type)).toEqual([
      "session_start",
      "tool_call_start",
      "tool_call_end",
      "content",
      "error",
      "session_end",
    ]);
    expect(events[0]?.data).toMatchObject({ protocol: "1.0" });
    expect(events[1]?.data).toMatchObject({ arguments: {} });
    expect(events[2]?.data).toMatchObject({ status: "success" });
    expect(events[4]?.data).toMatchObject({ code: "UPSTREAM_TIMEOUT", terminal: false });
  });
});

describe("clocks", () => {
  test("the first event", async () => {
    const server = await serve((exchange) => {
      exchange.start();
      const pings = setInterval(() => exchange.write(": ping\n"), 20);
      void exchange.closed.then(() => clearInterval(pings));
    });
    const error = await failureOf(streamRequest(server.url, { timeouts: { firstEvent: 150 } }));
    expect([error.kind, error.code, error.reason]).toEqual([
      "request_timeout",
      "UPSTREAM_TIMEOUT",
      "first_event_timeout",
    ]);
    await server.exchanges[0]?.closed;
  });

  test("a clock that has run out long ago rings before the next heartbeat", async () => {
    vi.useFakeTimers(); // on a busy machine the heartbeat would come first
    try {
      const heartbeat = new Promise((resolve) => setTimeout(resolve, 100));
      const wait = createPatience().wait(heartbeat, [{ left: -1000, thrown: new Error("late") }]);
      const late = expect(wait).rejects.toThrow("late");
      await vi.advanceTimersByTimeAsync(99);
      await late;
    } finally {
      vi.useRealTimers();
    }
  });

  test("silence, which heartbeats end", async () => {
    const server = await serve((exchange) => {
      exchange.start().write(sse(START));
      let left = 30;
      const pings = setInterval(() => (left-- > 0 ? exchange.write(": ping\n") : clearInterval(pings)), 40);
    });
    const began = performance.now();
    const error = await failureOf(streamRequest(server.url, { timeouts: { idle: 1000 } }));
    expect(error.reason).toBe("idle_timeout");
    expect(performance.now() - began).toBeGreaterThan(2000);
  });

  test("all of it", async () => {
    const server = await serve((exchange) => {
      exchange.start().write(sse(START));
      const events = setInterval(() => exchange.write(": ping\n"), 20);
      void exchange.closed.then(() => clearInterval(events));
    });
    expect((await failureOf(streamRequest(server.url, { timeouts: { total: 200 } }))).reason).toBe("total_timeout");
  });

  test("none runs while the page works", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(
        answer("A", "B")
          .map((event) => sse(event))
          .join(""),
      ),
    );
    for await (const _ of streamRequest(server.url, { timeouts: { firstEvent: 800, idle: 800, total: 800 } })) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  });

  test("none fires where the page has drawn for long and the bytes are here", async () => {
    const server = await serve((exchange) => {
      exchange.start().write(sse(START));
      setTimeout(() => exchange.end(sse(text("A", 1)) + sse(END(2))), 100);
    });
    const stream = streamRequest(server.url, { timeouts: { idle: 600 } });
    await stream.next();
    const next = stream.next();
    await new Promise((resolve) => setTimeout(resolve, 250));
    for (const end = performance.now() + 800; performance.now() < end; );
    expect((await next).value?.type).toBe("content");
  });
});

describe("leaving", () => {
  const endless = () =>
    serve((exchange) => {
      exchange.start().write(sse(START));
      let sequence = 0;
      const timer = setInterval(() => exchange.write(sse(text("x", ++sequence))), 10);
      void exchange.closed.then(() => clearInterval(timer));
    });

  test("break closes the connection", async () => {
    const server = await endless();
    for await (const event of streamRequest(server.url)) if (event.type === "content") break;
    await server.exchanges[0]?.closed;
  });

  test("return and cancel end a next that waits for the network", async () => {
    for (const leave of ["return", "cancel"] as const) {
      const server = await serve((exchange) => exchange.start().write(sse(START)));
      const stream = streamRequest(server.url);
      await stream.next();
      const next = stream.next();
      void stream[leave]();
      expect(await next).toEqual({ done: true, value: undefined });
      await server.exchanges[0]?.closed;
      expect(await stream.next()).toEqual({ done: true, value: undefined });
    }
  });

  test("cancel before any answer ends it without an error", async () => {
    const server = await serve(() => {});
    const stream = streamRequest(server.url);
    const next = stream.next();
    await server.requests(1);
    stream.cancel();
    expect((await next).done).toBe(true);
    await server.exchanges[0]?.closed;
  });

  test("a signal rejects with its reason and leaves no listener", async () => {
    const server = await endless();
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const reason = new Error("mine");
    const failed = rejection(
      (async () => {
        for await (const event of streamRequest(server.url, { signal }))
          if (event.type === "content") controller.abort(reason);
      })(),
    );
    expect(await failed).toBe(reason);
    expect(listeners).toBe(0);
    await server.exchanges[0]?.closed;
  });

  test("an aborted signal ends a wait, and one aborted before sends nothing", async () => {
    const server = await serve(() => {});
    const controller = new AbortController();
    const failed = rejection(all(streamRequest(server.url, { signal: controller.signal })));
    await server.requests(1);
    controller.abort("why");
    expect(await failed).toBe("why");
    expect(
      await rejection(all(streamRequest(server.url, { signal: AbortSignal.abort("before"), throwErrors: false }))),
    ).toBe("before");
    expect(server.exchanges).toHaveLength(1);
  });

  test("reading waits for the loop", async () => {
    let sent = 0;
    const server = await serve((exchange) => {
      exchange.start().write(sse(START));
      const piece = sse(text("x".repeat(60_000), 1));
      const send = () => {
        while (sent < 2000 && !exchange.isClosed) {
          sent += 1;
          if (!exchange.socket.write(piece)) return void exchange.socket.once("drain", send);
        }
      };
      send();
    });
    const stream = streamRequest(server.url);
    await stream.next();
    await stream.next();
    for (let seen = -1; seen !== sent; ) {
      seen = sent;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sent).toBeLessThan(400);
    stream.cancel();
    await until(() => server.exchanges[0]?.isClosed === true);
  });

  test("events asked for at once come in order", async () => {
    const server = await serve((exchange) =>
      exchange.start().end(
        answer("A", "B")
          .map((event) => sse(event))
          .join(""),
      ),
    );
    const stream = streamRequest(server.url);
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => stream.next()));
    expect(results.map(({ value }) => value?.type)).toEqual([
      "session_start",
      "content",
      "content",
      "session_end",
      undefined,
    ]);
  });
});
