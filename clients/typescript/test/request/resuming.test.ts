import { describe, expect, test } from "vitest";
import { type Reconnect, StreamRequestError, streamRequest } from "../../src/index.js";
import { all, answer, line, RUN, RUN_HEADERS, rejection, sse, text, textIn, wire } from "../support/events.js";
import { type Exchange, serve } from "../support/raw-server.js";

const EVENTS = answer("A", "B", "C", "D");
const RESUME = { attempts: 3, delay: 10, maxDelay: 40 };
const ids = (events: object[], from = 0) => events.map((event, index) => sse(event, `${RUN}.${from + index}`)).join("");

/** The run from behind the event that the request names. */
const rest = (exchange: Exchange) => {
  const last = Number(/\.(\d+)$/.exec(exchange.header("last-event-id") ?? "")?.[1] ?? -1);
  exchange.start(RUN_HEADERS).end(ids(EVENTS.slice(last + 1), last + 1));
};

const breaksAfter =
  (count: number, more = "") =>
  (exchange: Exchange) => {
    exchange.startChunked(RUN_HEADERS).chunk(ids(EVENTS.slice(0, count)) + more);
    setTimeout(() => exchange.destroy(), 30);
  };

describe("a broken stream is read on", () => {
  test("where its run is named, behind the last event that was read whole", async () => {
    const half = `id: ${RUN}.2\ndata: {"type":"content","data":{"content":"B`;
    const server = await serve(breaksAfter(2, half), rest);
    const seen: Reconnect[] = [];
    const stream = streamRequest(server.url, {
      body: { a: 1 },
      headers: { Authorization: "Bearer x" },
      onReconnect: (reconnect) => seen.push(reconnect),
    });
    const events = await all(stream);
    expect(textIn(events)).toBe("ABCD");
    expect(events.map(({ metadata }) => metadata.sequence)).toEqual([0, 1, 2, 3, 4, 5]);
    const [, second] = server.exchanges;
    expect([second?.method, second?.path, second?.body]).toEqual(["GET", `/-/runs/${RUN}`, ""]);
    expect(second?.header("last-event-id")).toBe(`${RUN}.1`);
    expect(second?.header("authorization")).toBe("Bearer x");
    expect(second?.header("content-type")).toBeNull();
    expect([stream.run, stream.runUrl, stream.resumes]).toEqual([RUN, `${server.origin}/-/runs/${RUN}`, 1]);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ attempt: 1 });
    expect(seen[0]?.delayMs).toBeGreaterThanOrEqual(250);
    expect(seen[0]?.delayMs).toBeLessThanOrEqual(500);
    expect(seen[0]?.error).toBeInstanceOf(StreamRequestError);
  });

  test("also where it ends without session_end, or is silent", async () => {
    const ends = await serve((exchange) => exchange.start(RUN_HEADERS).end(ids(EVENTS.slice(0, 3))), rest);
    expect(textIn(await all(streamRequest(ends.url, { resume: RESUME })))).toBe("ABCD");
    const silent = await serve((exchange) => exchange.start(RUN_HEADERS).write(ids(EVENTS.slice(0, 3))), rest);
    expect(textIn(await all(streamRequest(silent.url, { resume: RESUME, timeouts: { idle: 100 } })))).toBe("ABCD");
    await silent.exchanges[0]?.closed;
  });

  test("what has come already is not given again", async () => {
    const server = await serve(breaksAfter(3), (exchange) =>
      exchange.start(RUN_HEADERS).end(EVENTS.map((event) => sse(event)).join("")),
    );
    const events = await all(streamRequest(server.url, { resume: RESUME }));
    expect(textIn(events)).toBe("ABCD");
    expect(events.filter(({ type }) => type === "session_start")).toHaveLength(1);
  });

  test("NDJSON goes on by its sequence", async () => {
    const server = await serve(
      (exchange) => {
        exchange
          .start({ ...RUN_HEADERS, "Transfer-Encoding": "chunked" }, "200 OK", "application/x-ndjson")
          .chunk(EVENTS.slice(0, 3).map(line).join(""));
        setTimeout(() => exchange.destroy(), 20);
      },
      (exchange) => exchange.start(RUN_HEADERS).end(EVENTS.slice(3).map(line).join("")),
    );
    expect(textIn(await all(streamRequest(server.url, { framing: "ndjson", resume: RESUME })))).toBe("ABCD");
    expect(server.exchanges[1]?.path).toBe(`/-/runs/${RUN}?after=2`);
    expect(server.exchanges[0]?.header("accept")).toBe("application/x-ndjson");
  });

  test("several breaks, one refused connection and a busy server", async () => {
    const server = await serve(
      breaksAfter(2),
      (exchange) => exchange.destroy(),
      (exchange) => exchange.start({}, "502 Bad Gateway").end(),
      (exchange) => {
        exchange.startChunked(RUN_HEADERS).chunk(ids(EVENTS.slice(2, 3), 2));
        setTimeout(() => exchange.destroy(), 20);
      },
      (exchange) => exchange.start({ "Retry-After": "0" }, "503 Busy").end(),
      rest,
    );
    const seen: number[] = [];
    const stream = streamRequest(server.url, { resume: RESUME, onReconnect: ({ attempt }) => seen.push(attempt) });
    expect(textIn(await all(stream))).toBe("ABCD");
    expect(seen).toEqual([1, 2, 3, 1, 2]);
  });
});

describe("a broken stream is given up", () => {
  test("after so many tries, with the failure that broke it", async () => {
    const server = await serve(breaksAfter(2), (exchange) => exchange.destroy());
    const error = await rejection(all(streamRequest(server.url, { resume: RESUME })));
    expect(error).toMatchObject({ kind: "stream_truncated", code: "UPSTREAM_TRUNCATED" });
    expect(server.exchanges).toHaveLength(4);
  });

  for (const status of ["204 No Content", "404 Not Found", "410 Gone", "401 Unauthorized"]) {
    test(`at ${status}`, async () => {
      const server = await serve(breaksAfter(2), (exchange) =>
        exchange.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`),
      );
      expect(await rejection(all(streamRequest(server.url, { resume: RESUME })))).toMatchObject({
        kind: "stream_truncated",
      });
      expect(server.exchanges).toHaveLength(2);
    });
  }

  test("at once where the run is of another origin, or resuming is off", async () => {
    const foreign = { ...RUN_HEADERS, "Content-Location": "http://example.com/-/runs/x" };
    const server = await serve((exchange) => exchange.start(foreign).end(ids(EVENTS.slice(0, 2))));
    expect(await rejection(all(streamRequest(server.url)))).toMatchObject({ kind: "stream_truncated" });
    const off = await serve(breaksAfter(2));
    expect(await rejection(all(streamRequest(off.url, { resume: false })))).toMatchObject({ kind: "stream_truncated" });
    expect([server.exchanges.length, off.exchanges.length]).toEqual([1, 1]);
  });

  test("where the stream itself says that its run is lost", async () => {
    const lost = wire(
      "error",
      { error_type: "system", code: "RUN_LOST", message: "Lost.", recoverable: true, terminal: true },
      2,
    );
    const server = await serve((exchange) => exchange.start(RUN_HEADERS).end(ids([...EVENTS.slice(0, 2), lost])));
    expect(await rejection(all(streamRequest(server.url, { resume: RESUME })))).toMatchObject({
      code: "RUN_LOST",
      reason: "lost",
      recoverable: true,
    });
    expect(server.exchanges).toHaveLength(1);
    const told = await serve((exchange) => exchange.start(RUN_HEADERS).end(ids([...EVENTS.slice(0, 2), lost])));
    const events = await all(streamRequest(told.url, { resume: RESUME, throwErrors: false }));
    expect(events.map(({ type }) => type)).toEqual(["session_start", "content", "error", "session_end"]);
    expect(events.at(-1)?.data).toMatchObject({ status: "error", reason: "lost" });
  });
});

describe("a handle of its own", () => {
  test("goes out with the request, which is sent again if it got lost", async () => {
    const server = await serve(
      (exchange) => exchange.destroy(),
      (exchange) => exchange.start(RUN_HEADERS).end(ids(EVENTS)),
    );
    expect(textIn(await all(streamRequest(server.url, { body: { a: 1 }, resume: { ...RESUME } })))).toBe("ABCD");
    const [first, second] = server.exchanges;
    expect(first?.header("x-streamweir-run")).toMatch(/^run_[0-9a-f]{32}$/);
    expect(second?.header("x-streamweir-run")).toBe(first?.header("x-streamweir-run"));
    expect([second?.method, second?.body]).toEqual(["POST", '{"a":1}']);
  });

  test("is not brought along without being asked for, nor with GET", async () => {
    const server = await serve((exchange) => exchange.start().end(ids(EVENTS)));
    await all(streamRequest(server.url));
    await all(streamRequest(server.url, { method: "GET", resume: true, lastEventId: `${RUN}.0` }));
    expect(server.exchanges.map((exchange) => exchange.header("x-streamweir-run"))).toEqual([null, null]);
    expect(server.exchanges[1]?.header("last-event-id")).toBe(`${RUN}.0`);
  });

  test("without one a lost request fails at once", async () => {
    const server = await serve((exchange) => exchange.destroy());
    expect(await rejection(all(streamRequest(server.url)))).toMatchObject({ kind: "connection_failed" });
    expect(server.exchanges).toHaveLength(1);
  });
});

describe("leaving is not stopping", () => {
  const endless = (exchange: Exchange) => exchange.start(RUN_HEADERS).write(ids(EVENTS.slice(0, 2)));

  test("stop asks the run to end, cancel does not", async () => {
    const server = await serve(endless, (exchange) => exchange.start({}, "200 OK", "application/json").end("{}"));
    const stream = streamRequest(server.url, { headers: { Authorization: "Bearer x" }, body: {} });
    await stream.next();
    await stream.stop();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    const [first, second] = server.exchanges;
    await first?.closed;
    expect([second?.method, second?.path]).toEqual(["POST", `/-/runs/${RUN}/cancel`]);
    expect(second?.header("authorization")).toBe("Bearer x");
    const left = await serve(endless);
    const other = streamRequest(left.url);
    await other.next();
    other.cancel();
    await left.exchanges[0]?.closed;
    expect(left.exchanges).toHaveLength(1);
  });

  test("stop before any answer, and after the end, only leaves", async () => {
    const server = await serve(() => {});
    const stream = streamRequest(server.url);
    const next = stream.next();
    await server.requests(1);
    await stream.stop();
    expect((await next).done).toBe(true);
    const whole = await serve((exchange) => exchange.start(RUN_HEADERS).end(ids(EVENTS)));
    const over = streamRequest(whole.url);
    await all(over);
    await over.stop();
    expect(whole.exchanges).toHaveLength(1);
  });

  test("a wait before the next try ends at once", async () => {
    const server = await serve(breaksAfter(2), (exchange) => exchange.destroy());
    const stream = streamRequest(server.url, { resume: { attempts: 5, delay: 60_000, maxDelay: 60_000 } });
    await stream.next();
    await stream.next();
    const next = stream.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    stream.cancel();
    expect((await next).done).toBe(true);
  });
});

test("text behind a resumed half character is whole", async () => {
  const events = [EVENTS[0] as object, text("世", 1), text("界", 2), EVENTS[5] as object];
  const first = Buffer.from(ids(events.slice(0, 2)) + sse(events[2] as object, `${RUN}.2`));
  const server = await serve(
    (exchange) => {
      exchange.startChunked(RUN_HEADERS).chunk(first.subarray(0, first.indexOf("界") + 1));
      setTimeout(() => exchange.destroy(), 30);
    },
    (exchange) => exchange.start(RUN_HEADERS).end(ids(events.slice(2), 2)),
  );
  expect(textIn(await all(streamRequest(server.url, { resume: RESUME })))).toBe("世界");
});
