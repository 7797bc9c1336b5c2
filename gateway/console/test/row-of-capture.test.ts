import { expect, test } from "vitest";
import type { Capture } from "../src/capture/capture.js";
import { CaptureLines } from "../src/capture/capture-reader.js";
import { rowOfCapture } from "../src/views/stream/row-of-capture.js";

const event = (type: string, metadata: object = {}) => ({ kind: "event", t: 2, event: { type, data: {}, metadata } });

const LINES = [
  { kind: "capture", version: 1, id: "req_1", content: "full", session_id: "session-1" },
  { kind: "response", t: 1, side: "upstream", status: 200 },
  event("session_start", { thread_id: "thread-1" }),
  event("warning"),
  { kind: "mark", t: 2, what: "repair", code: "TOOL_CALL_REPAIRED" },
  event("warning"),
  { kind: "response", t: 3, side: "client", status: 502 },
  { kind: "end", t: 4, reason: "truncated", status: "error", events: 3, bytes_in: 1, bytes_out: 2, client: "read" },
];

function captureOf(lines: object[]): Capture {
  const found = new CaptureLines();
  for (const line of lines) found.add(JSON.stringify(line));
  return found.captures[0] as Capture;
}

test("row of a file has the facts that its lines tell", () => {
  const row = rowOfCapture(captureOf(LINES));
  expect(row).toMatchObject({ status: 502, warnings: 2, repairs: 1, reason: "truncated", events: 3 });
  expect(row).toMatchObject({ session_id: "session-1", thread_id: "thread-1" });
});

test("row of a file without a response has no status and no ids", () => {
  expect(rowOfCapture(captureOf([{ ...LINES[0], session_id: undefined }]))).toMatchObject({
    status: null,
    session_id: null,
    thread_id: null,
  });
});
