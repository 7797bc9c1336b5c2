import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Capture } from "../src/capture/capture.js";
import { MessageFold } from "../src/capture/message.js";
import { MessageHistory } from "../src/capture/message-history.js";
import type { Json } from "../src/capture/shapes.js";

const event = (type: string, data: object, message_id = "m") => ({ type, data, metadata: { message_id } });

function folded(...events: object[]) {
  const fold = new MessageFold();
  for (const one of events) fold.add(one as Json);
  return fold.message;
}

test("pieces of a text are one part, in the order in which the user saw them", () => {
  const message = folded(
    event("content", { content: "a" }),
    event("content", { content: "b" }),
    event("tool_call_start", { tool_id: "t", tool_name: "find", arguments: { q: 1 } }),
    event("content", { content: "c" }),
    event("tool_call_end", { tool_id: "t", status: "success", result: [2] }),
    event("session_end", { status: "completed", reason: "done" }),
  );
  expect(message.parts).toMatchObject([
    { kind: "text", text: "ab" },
    { kind: "tool", name: "find", given: '{"q":1}', state: "success", result: "[2]" },
    { kind: "text", text: "c" },
  ]);
  expect(message.end).toBe("completed, done");
});

test("replacement takes the place of all that the message held in its channel", () => {
  const message = folded(
    event("content", { content: "a" }),
    event("content", { content: "report", channel: "report" }),
    event("content", { content: "b" }),
    event("content", { content: "new", op: "replace" }),
    event("content", { content: "!" }),
  );
  expect(message.parts.map((part) => "text" in part && part.text)).toEqual(["", "report", "new!"]);
});

test("messages of the vectors have the text of the other clients", () => {
  const vectors = JSON.parse(readFileSync("../../tests/vectors/messages.json", "utf8")) as {
    name: string;
    streams: Json[][];
    state: Json;
  }[];
  expect(vectors.length).toBeGreaterThan(5);
  for (const { name, streams, state } of vectors) {
    if (streams.length !== 1) continue;
    const { parts } = folded(...(streams[0] ?? []));
    // The other clients put the pieces of one message together; here they are in the order in which they came.
    const byMessage = new Map<string, string>();
    for (const part of parts) {
      if (part.kind !== "text" || part.channel !== "") continue;
      byMessage.set(part.key, (byMessage.get(part.key) ?? "") + part.text);
    }
    const answer = [...byMessage.values()].join("");
    expect(answer.replaceAll("\n", ""), name).toBe(String(state.mainContent).replaceAll("\n", ""));
  }
});

test("message after any event is the same in whatever order it is asked for", () => {
  const capture = new Capture({ kind: "capture", version: 1 });
  for (let n = 0; n < 5000; n++) {
    const body =
      n % 7 ? event("content", { content: `${n} ` }) : event("tool_call_start", { tool_id: `${n}`, tool_name: "t" });
    capture.add({ kind: "event", t: n, event: { ...body, metadata: { message_id: "m", sequence: n } } });
  }
  const history = new MessageHistory(capture);
  const whole = JSON.stringify(history.after(4999));
  const expected = (place: number) =>
    JSON.stringify(folded(...capture.items.event.slice(0, place + 1).map(({ line }) => line.event as object)));
  for (const place of [0, 4000, 3999, 2000, 1999, 2001, 4998, 17, -1]) {
    expect(JSON.stringify(history.after(place)), `${place}`).toBe(expected(place));
  }
  expect(JSON.stringify(history.after(4999))).toBe(whole);
});

test("part that was left out is seen in the message", () => {
  const capture = new Capture({ kind: "capture", version: 1 });
  capture.add({ kind: "event", t: 1, event: event("content", { content: "a" }) });
  capture.add({ kind: "mark", t: 2, what: "left_out", lane: "event", lines: 90 });
  capture.add({ kind: "event", t: 3, event: event("content", { content: "z" }) });
  expect(new MessageHistory(capture).after(1).parts.map(({ kind }) => kind)).toEqual(["text", "gap", "text"]);
});
