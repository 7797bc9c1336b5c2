import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fieldsOfAnswer } from "../../src/events/envelope.js";
import { readEvent } from "../../src/events/read-event.js";
import type { StreamEvent } from "../../src/index.js";
import { type MessageState, MessageStreamHandler, parseStreamLine, StreamRequestError } from "../../src/index.js";
import { normalizeStreamEvent } from "../../src/legacy.js";

const vectors = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));

interface MessageVector {
  name: string;
  streams: object[][];
  state: object;
}

/** The state as the vectors have it: without ids of its own, a call by its number, a block left out. */
function comparable(state: MessageState): unknown {
  const parts = state.parts.map((part) => {
    const call = part.type === "tool" ? { call: state.toolCalls.indexOf(part.call) } : {};
    return { ...part, ...call, id: undefined, block: undefined };
  });
  return JSON.parse(JSON.stringify({ ...state, id: undefined, parts }));
}

describe("a message folds to what Python folds it to", () => {
  for (const { name, streams, state } of vectors("messages") as MessageVector[]) {
    test(name, () => {
      const handler = new MessageStreamHandler();
      for (const event of streams.flat()) handler.handleEvent(readEvent(event) as StreamEvent);
      expect(comparable(handler.message)).toEqual(state);
    });
    test(`${name}, with a look at each step`, () => {
      const handler = new MessageStreamHandler();
      for (const event of streams.flat()) {
        handler.handleEvent(readEvent(event) as StreamEvent);
        const { toolCalls, parts, dataBlocks } = handler.message;
        for (const part of parts) {
          if (part.type === "tool") expect(toolCalls).toContain(part.call);
          if (part.type === "data") expect(dataBlocks).toContain(part.block);
        }
      }
      expect(comparable(handler.message)).toEqual(state);
    });
  }
});

test("a line means what it means in Python", () => {
  for (const [line, object] of vectors("lines")) expect([line, parseStreamLine(line)]).toEqual([line, object]);
});

test("an old message means what it means in Python", () => {
  for (const vector of vectors("normalize")) {
    expect({ in: vector.in, out: normalizeStreamEvent(vector.in) }).toEqual(vector);
  }
});

test("a refusal means what it means in Python", () => {
  for (const { status, headers, body, error } of vectors("rejections")) {
    const { requestId = null, ...read } = fieldsOfAnswer(status, headers["retry-after"] ?? null, body);
    const found = new StreamRequestError({ kind: "request_rejected", ...read, requestId, status });
    const { code, errorType, message, recoverable, retryAfterMs, reason } = found;
    const fields = { kind: found.kind, code, errorType, message, recoverable, retryAfterMs, reason, status, requestId };
    expect({ body, ...fields }).toEqual({ body, ...error });
  }
});
