import { HttpAgent } from "@ag-ui/client";
import { describe, expect, inject, test } from "vitest";
import { createRunFetch } from "../../src/fetch.js";
import { createAgentStream, MessageStreamHandler, type StreamEvent, streamRequest } from "../../src/index.js";
import { all, rejection, textIn } from "../support/events.js";
import { until } from "../support/raw-server.js";

const gateway = inject("gateway");
const DIALECTS = ["standard", "legacy", "stream-envelope", "data-formulator", "easyflow"];

describe.skipIf(!gateway)("the running gateway", () => {
  for (const dialect of DIALECTS) {
    test.concurrent(`${dialect} is read as SSE and as NDJSON, to the same message`, async () => {
      const read = async (framing: "sse" | "ndjson") => {
        const handler = new MessageStreamHandler();
        const options = { body: { message: "Hi" }, framing, protocol: "standard" };
        const message = await handler.consume(streamRequest(`${gateway}/${dialect}`, options));
        expect(message).toMatchObject({ isStreaming: false, hasError: false });
        expect(message.parts.length).toBeGreaterThan(0);
        const { mainContent, thinkingContent, status, toolCalls } = message;
        return [mainContent, thinkingContent, status, toolCalls.map(({ tool_name }) => tool_name)];
      };
      const folded = await Promise.all([read("sse"), read("ndjson")]);
      expect(folded[0]).toEqual(folded[1]);
    });
  }

  test.concurrent("failures are the gateway's words", async () => {
    const ask = (message: string, path = "/legacy") =>
      rejection(all(streamRequest(`${gateway}${path}`, { body: { message } })));
    expect(await ask("cut")).toMatchObject({ kind: "stream_failed", code: "UPSTREAM_TRUNCATED", recoverable: true });
    expect(await ask("fail")).toMatchObject({ kind: "stream_failed" });
    expect(await ask("Hi", "/nothing")).toMatchObject({
      kind: "request_rejected",
      code: "ENDPOINT_NOT_FOUND",
      status: 404,
    });
  });

  test.concurrent("a run is left, read on from a place, and read again", async () => {
    const first = streamRequest(`${gateway}/kept/legacy`, { body: { message: "Hi" }, resume: true });
    const seen: StreamEvent[] = [];
    for await (const event of first) if (seen.push(event) === 3) break;
    expect(first.run).toMatch(/^run_/);
    const runUrl = first.runUrl as string;
    const rest = await all(streamRequest(runUrl, { method: "GET", lastEventId: `${first.run}.2` }));
    const whole = await all(streamRequest(runUrl, { method: "GET" }));
    expect(textIn([...seen, ...rest])).toBe(textIn(whole));
    expect([...seen, ...rest].map(({ metadata }) => metadata.sequence)).toEqual(whole.map((_, index) => index));
  });

  test.concurrent("stop stops the run", async () => {
    const stream = createAgentStream({ url: `${gateway}/kept/legacy`, protocol: "standard" });
    let runUrl: string | null = null;
    const done = stream.send("stall");
    await new Promise<void>((resolve) => {
      stream.subscribe(() => {
        runUrl ??= stream.getSnapshot().runUrl;
        if (runUrl && stream.getSnapshot().status === "streaming") resolve();
      });
    });
    await stream.stop();
    expect(await done).toMatchObject({ status: "cancelled" });
    const answer = await fetch(runUrl as unknown as string, { headers: { Accept: "application/json" } });
    expect(await answer.json()).toMatchObject({ status: "cancelled", reason: "cancelled" });
  });

  test.concurrent("AG-UI's HttpAgent reads a run again", async () => {
    const runs = createRunFetch({ protocol: "ag-ui" });
    const url = `${gateway}/kept/legacy`;
    const agent = new HttpAgent({ url, threadId: "th-1", fetch: runs as HttpAgent["fetch"] });
    agent.addMessage({ id: "1", role: "user", content: "Hi" });
    const first = agent.runAgent();
    await until(() => runs.runUrl("th-1") !== null);
    const again = new HttpAgent({ url, threadId: "th-1", fetch: runs.reader("th-1") as HttpAgent["fetch"] });
    const [one, two] = await Promise.all([first, again.runAgent()]);
    const text = ({ newMessages }: { newMessages: { content?: unknown }[] }) =>
      newMessages.map(({ content }) => content).join();
    expect(text(one).length).toBeGreaterThan(10);
    expect(text(two)).toBe(text(one));
  });
});
