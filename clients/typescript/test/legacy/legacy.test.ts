import { describe, expect, test } from "vitest";
import { SHAPES } from "../../src/events/shapes.js";
import { MessageStreamHandler, parseStream, type StreamEvent } from "../../src/index.js";
import {
  createNormalizer,
  type EventAdapterContext,
  type ExecutionStep,
  normalizeStreamEvent,
  toEnvelope,
  toExecutionStep,
} from "../../src/legacy.js";
import { rejection, wire } from "../support/events.js";

async function* lines(messages: (object | string)[]): AsyncGenerator<string> {
  for (const message of messages) yield typeof message === "string" ? message : `data: ${JSON.stringify(message)}\n\n`;
}
const folded = (messages: (object | string)[], options = {}) =>
  new MessageStreamHandler().consume(
    parseStream(lines(messages), { normalize: createNormalizer(options), requestId: "r" }),
  );

describe("a stream of the old vocabulary", () => {
  test("has ids, and its answer once", async () => {
    const message = await folded([
      { type: "thinking", content: "Hm." },
      { type: "token", content: "Hel" },
      { type: "token", content: "lo" },
      { type: "tool_call", tool_name: "a", tool_args: '{"x":1}' },
      { type: "tool_call", tool_name: "a", tool_args: '{"x":2}' },
      { type: "tool_result", tool_name: "a", result: "first" },
      { type: "tool_result", tool_name: "a", result: "second" },
      { type: "token", content: " you" },
      { type: "final_answer", content: "Hello you" },
      { type: "done" },
    ]);
    expect(message).toMatchObject({ mainContent: "Hello you", thinkingContent: "Hm.", status: "completed" });
    expect(message.toolCalls.map(({ tool_id, arguments: given, result }) => [tool_id, given, result])).toEqual([
      ["call_1", { x: 1 }, "first"],
      ["call_2", { x: 2 }, "second"],
    ]);
    expect(message.metadata.requestId).toBe("r");
  });

  test("calls without ids end in the order of their starts, a call behind other events before older ones", async () => {
    const call = { type: "tool_call", tool_name: "a" };
    const result = (text: string) => ({ type: "tool_result", tool_name: "a", result: text });
    const end = [{ type: "final_answer", content: "B" }, { type: "done" }];
    const results = async (messages: object[]) =>
      (await folded([...messages, ...end])).toolCalls.map(({ result, status }) => result ?? status);
    expect(await results([call, call, result("1"), result("2")])).toEqual(["1", "2"]);
    expect(await results([call, { type: "token", content: "B" }, call, result("2")])).toEqual(["failed", "2"]);
    expect(await results([result("1")])).toEqual(["1"]);
  });

  test("an answer that says more goes on, one that says otherwise replaces", async () => {
    const more = await folded([
      { type: "token", content: "Hel" },
      { type: "final_answer", content: "Hello" },
      { type: "done" },
    ]);
    expect(more.mainContent).toBe("Hello");
    const other = await folded([
      { type: "token", content: "Helo" },
      { type: "final_answer", content: "Hello" },
      { type: "done" },
    ]);
    expect(other.mainContent).toBe("Hello");
  });

  test("event names and bare texts", async () => {
    const message = await folded(["event: token\ndata: Hello\n\n", "event: done\n\n"]);
    expect(message).toMatchObject({ mainContent: "Hello", status: "completed" });
  });

  test("an end that is missing is truncation, but behind a final answer, or where the backend never says it", async () => {
    const cut = [{ type: "token", content: "A" }];
    expect(await rejection(folded(cut))).toMatchObject({ kind: "stream_truncated" });
    expect((await folded(cut, { endsAtEof: true })).status).toBe("completed");
    expect((await folded([...cut, { type: "final_answer", content: "A" }])).status).toBe("completed");
  });

  test("an error fails, and what it says stays out", async () => {
    const error = await rejection(
      folded([{ type: "token", content: "A" }, { type: "error", message: "secret at /srv" }, { type: "done" }]),
    );
    expect(error).toMatchObject({ kind: "stream_failed", code: "UPSTREAM_ERROR", reason: "upstream_error" });
    expect(String(error)).not.toContain("secret");
  });
});

describe("for pages of the envelope", () => {
  const context = (): EventAdapterContext & { steps: ExecutionStep[] } => {
    const steps: ExecutionStep[] = [];
    let count = 0;
    return {
      steps,
      currentThoughtId: null,
      toolStepMap: new Map(),
      genId: (prefix) => `${prefix}${++count}`,
      getSteps: () => steps,
    };
  };
  const metadata = { thread_id: "t", node_name: "n", run_id: "q" };

  test("an envelope is handed on, a flat event and a standard one are put into one", () => {
    const envelope = {
      type: "content",
      node_name: "n",
      run_id: "r",
      timestamp: 1,
      thread_id: "t",
      data: { delta: "x" },
    };
    expect(toEnvelope(envelope)).toBe(envelope);
    expect(toEnvelope({ type: "content", content: "x", thread_id: "t", timestamp: 5 })).toEqual({
      ...envelope,
      node_name: "unknown",
      run_id: "",
      timestamp: 5,
    });
    expect(toEnvelope(wire("content", { content: "x" }, 1, { ...metadata, upstream_time: 9 }))).toEqual({
      ...envelope,
      run_id: "q",
      timestamp: 9,
    });
    for (const junk of [null, undefined, 1, "x", [], {}, { type: "nonsense" }]) expect(toEnvelope(junk)).toBeNull();
  });

  test("two calls of one name are told apart, and a failed one is an error", () => {
    const page = context();
    const events = [
      wire("tool_call_start", { tool_id: "a", tool_name: "s", arguments: { x: 1 } }, 1),
      wire("tool_call_start", { tool_id: "b", tool_name: "s", arguments: { x: 2 } }, 2),
      wire("tool_call_end", { tool_id: "a", status: "failed", error: { code: "TOOL_FAILED", message: "No." } }, 3),
      wire("tool_call_end", { tool_id: "b", status: "success", result: "yes" }, 4),
    ];
    const results = events.map((event) => {
      const result = toExecutionStep(event, page);
      if (result.type === "add_step") page.steps.push(result.step);
      return result;
    });
    expect(results.slice(2)).toMatchObject([
      { stepId: "tool1", updates: { status: "error", data: { request: { x: 1 }, response: "No." } } },
      { stepId: "tool2", updates: { status: "success", data: { request: { x: 2 }, response: "yes" } } },
    ]);
    expect(page.toolStepMap.size).toBe(0);
  });

  test("the end of a standard call has the name of its start", () => {
    toEnvelope(wire("tool_call_start", { tool_id: "n1", tool_name: "weather", arguments: {} }, 1));
    const end = toEnvelope(wire("tool_call_end", { tool_id: "n1", status: "success", result: "sunny" }, 2));
    expect(end).toMatchObject({ type: "tool_end", run_id: "n1", data: { tool_name: "weather", tool_output: "sunny" } });
  });

  test("ends, stops and failures", () => {
    const page = context();
    const types = (...events: unknown[]) => events.map((event) => toExecutionStep(event, page).type);
    expect(
      types(
        { type: "done" },
        { stopped: true },
        { type: "error", error: "x" },
        wire("session_end", { status: "completed", reason: "done" }, 1),
        wire("session_end", { status: "cancelled", reason: "cancelled" }, 1),
        wire("session_end", { status: "suspended", reason: "interaction" }, 1),
        wire("status", { scope: "node", state: "started" }, 1),
      ),
    ).toEqual(["done", "stopped", "add_step", "done", "stopped", "noop", "noop"]);
  });
});

test("a message of each type of the standard is left as it is", () => {
  for (const type of Object.keys(SHAPES)) {
    const event = { type, data: { own: 1 }, metadata: {} };
    expect(normalizeStreamEvent(event)).toEqual([event]);
  }
});

test("events of a normalizer are completed as those of the wire", async () => {
  const body = lines([{ type: "session_end", data: { status: "failed" }, metadata: {} }]);
  const events: StreamEvent[] = [];
  for await (const event of parseStream(body, { normalize: createNormalizer(), throwErrors: false }))
    events.push(event);
  expect(events.at(-1)).toMatchObject({ data: { status: "error", reason: "upstream_error" } });
});

test("a normalizer that throws costs one event", async () => {
  const normalize = (message: unknown): StreamEvent[] => {
    if ((message as { bad?: boolean }).bad) throw new Error("mine");
    return createNormalizer()(message);
  };
  const events: string[] = [];
  for await (const { type } of parseStream(lines([{ type: "token", content: "A" }, { bad: true }, { type: "done" }]), {
    normalize,
  })) {
    events.push(type);
  }
  expect(events).toEqual(["content", "warning", "session_end"]);
});

test("of an unknown event that reports a failure, codes and ids are kept", () => {
  const message = { type: "import", run_id: "r1", error: { code: "NO_TABLE", message: "no table at /srv" }, rows: 3 };
  const [event] = normalizeStreamEvent(message);
  const value = { run_id: "r1", error: { code: "NO_TABLE", message: "[withheld]" }, rows: 3 };
  expect(event?.data).toEqual({ data_type: "custom", data: { name: "import", value } });
  const [bare] = normalizeStreamEvent({ type: "error", data: { content: "no table at /srv" } });
  expect(JSON.stringify(bare)).not.toContain("/srv");
});

test("of an unknown event that reports a failure, texts beside the name of a tool are withheld", () => {
  const texts = { tool_output: "no table at /srv", tool_input: "/srv", status_text: "/srv", tools: "/srv" };
  const [event] = normalizeStreamEvent({ type: "import_failed", tool_name: "read", tool_id: "t 1", ...texts });
  expect(JSON.stringify(event)).not.toContain("/srv");
  expect(event?.data).toMatchObject({ data: { value: { tool_name: "read", tool_id: "t 1" } } });
});

test("a message of any shape gives events, and no text of a failure", () => {
  const values = [undefined, null, 0, "secret at /srv", [], {}, { message: "secret" }, { error: "secret" }, true];
  const types = [undefined, "token", "error", "tool_end", "node_start", "clarify", "completion", "status", "done", "x"];
  const names = ["error", "data", "metadata", "status", "stack_trace", "tool_name", "thread_id"];
  for (const type of types) {
    for (const name of names) {
      for (const value of values) {
        const message = { ...(type !== undefined && { type }), [name]: value };
        const events = normalizeStreamEvent(message);
        expect([message, events.every((event) => typeof event?.type === "string")]).toEqual([message, true]);
        const isFailure = /error|stack/.test(name) || (type === "error" && name !== "thread_id");
        if (isFailure) expect([message, JSON.stringify(events).includes("secret")]).toEqual([message, false]);
      }
    }
  }
});
