import { expect, test } from "vitest";
import { SseFrames } from "../src/data/sse-frames.js";

const BODY =
  ': ping\n\nevent: row\nid: 7\ndata: {"a":1}\n\ndata: one\r\ndata:two\r\n\r\nevent: line\rdata:  x\r\rid: 9\n\n';
const WANTED = [
  { event: "row", data: '{"a":1}', id: "7" },
  { event: "message", data: "one\ntwo", id: "" },
  { event: "line", data: " x", id: "" },
];

test("frames whole body are found", () => {
  expect(new SseFrames().push(BODY)).toEqual(WANTED);
});

test("frames body cut anywhere are the same", () => {
  for (let first = 0; first <= BODY.length; first++) {
    for (let second = first; second <= BODY.length; second++) {
      const frames = new SseFrames();
      const pieces = [BODY.slice(0, first), BODY.slice(first, second), BODY.slice(second)];
      expect(pieces.flatMap((piece) => frames.push(piece))).toEqual(WANTED);
    }
  }
});

test("frames long line in many pieces take linear time", () => {
  const frames = new SseFrames();
  const started = performance.now();
  for (let n = 0; n < 200_000; n++) frames.push("data: 0123456789");
  expect(frames.push("\n\n")).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(20_000);
});
