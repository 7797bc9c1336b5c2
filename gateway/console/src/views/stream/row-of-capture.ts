// The row of a stream that is known from its capture alone.

import type { Capture } from "../../capture/capture.js";
import { asCount, asText, isObject, type Json } from "../../capture/shapes.js";
import type { Row, State } from "../../data/rows.js";

export function rowOfCapture(capture: Capture): Row {
  const { meta, end } = capture;
  const text = (from: Json | undefined, name: string) => asText(from?.[name]) ?? null;
  const id = text(meta, "id") ?? "";
  const began = Date.parse(text(meta, "began") ?? "");
  const firstEvent = capture.items.event[0]?.t ?? null;
  return {
    id,
    seq: 0,
    request_id: id,
    trace_id: text(meta, "trace_id"),
    worker: 0,
    endpoint: text(meta, "endpoint"),
    upstream: text(meta, "upstream"),
    speaks: text(meta, "speaks"),
    answers: text(meta, "answers"),
    framing: text(meta, "framing"),
    key: null,
    state: stateOf(capture),
    began: Number.isNaN(began) ? 0 : began,
    duration_ms: capture.duration,
    first_event_ms: firstEvent,
    max_gap_ms: longestGap(capture),
    events: asCount(end?.events) ?? capture.items.event.length,
    bytes_in: asCount(end?.bytes_in) ?? null,
    bytes_out: asCount(end?.bytes_out) ?? null,
    attempts: capture.attempts.length,
    warnings: capture.items.event.filter(({ line }) => isObject(line.event) && line.event.type === "warning").length,
    repairs: countOf(capture, "repair"),
    malformed: countOf(capture, "malformed"),
    lost: countOf(capture, "lossy"),
    status: capture.status ?? null,
    reason: text(end, "reason"),
    code: text(end, "code"),
    hint: text(end, "hint"),
    thread_id: lastId(capture, "thread_id"),
    session_id: text(meta, "session_id") ?? lastId(capture, "session_id"),
    capture: capture.hasContent ? "content" : "metadata",
  };
}

function stateOf({ end }: Capture): State {
  return end === undefined ? "streaming" : "ended";
}

function countOf(capture: Capture, what: string): number {
  return capture.groups.all.reduce((sum, { marks }) => sum + marks.filter((mark) => mark.what === what).length, 0);
}

/** Returns an id in the metadata of the last event that has it. */
function lastId({ items }: Capture, name: string): string | null {
  for (let place = items.event.length - 1; place >= 0; place--) {
    const event = items.event[place]?.line.event;
    const id = isObject(event) && isObject(event.metadata) ? asText(event.metadata[name]) : undefined;
    if (id !== undefined) return id;
  }
  return null;
}

function longestGap({ items }: Capture): number | null {
  let longest: number | null = null;
  for (let place = 1; place < items.event.length; place++) {
    const gap = (items.event[place]?.t ?? 0) - (items.event[place - 1]?.t ?? 0);
    if (longest === null || gap > longest) longest = gap;
  }
  return longest;
}
