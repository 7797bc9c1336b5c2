// The facts of the row, and the attempts.

import { html, nothing, type TemplateResult } from "lit";
import type { Attempt, Row } from "../../data/rows.js";
import { bytes, count, duration, timeOfDay } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";
import { ageOf } from "../live/columns.js";

type Fact = readonly [field: string, title: string, value: (row: Row, now: number) => string];

function text(field: keyof Row, title: string): Fact {
  return [field, title, (row) => visibleLine(String(row[field] ?? "-"))];
}

function number(field: keyof Row, title: string, format: (value: number | null) => string): Fact {
  return [field, title, (row) => format(row[field] as number | null)];
}

const FACTS: readonly Fact[] = [
  text("state", "State"),
  text("reason", "Reason"),
  text("code", "Code"),
  text("status", "Status"),
  text("hint", "Hint"),
  ["duration_ms", "Duration", (row, now) => duration(ageOf(row, now))],
  number("first_event_ms", "First event", duration),
  number("max_gap_ms", "Largest gap", duration),
  number("events", "Events", count),
  number("bytes_in", "Bytes in", bytes),
  number("bytes_out", "Bytes out", bytes),
  number("warnings", "Warnings", count),
  number("repairs", "Repairs", count),
  number("malformed", "Malformed", count),
  number("lost", "Lost", count),
  ["attempts", "Attempts", (row) => count(row.attempts)],
  text("endpoint", "Endpoint"),
  text("upstream", "Upstream"),
  text("speaks", "Speaks"),
  text("answers", "Answers"),
  text("framing", "Framing"),
  text("key", "Key"),
  ["began", "Began", (row) => (row.began ? timeOfDay(row.began) : "-")],
  text("worker", "Worker"),
  text("capture", "Capture"),
  text("shadow", "Shadow"),
  text("request_id", "Request id"),
  text("trace_id", "Trace id"),
  text("thread_id", "Thread id"),
  text("session_id", "Session id"),
  text("id", "Id of the row"),
  text("seq", "Change"),
];
const LONG = new Set(["hint", "request_id", "trace_id", "thread_id", "session_id", "upstream"]);

/** Returns the content of the region. */
export function summaryPanel(row: Row, attempts: readonly Attempt[], now: number): TemplateResult {
  return html`
    <dl class="facts">
      ${FACTS.map(
        ([field, title, value]) => html`<div class=${LONG.has(field) ? "long" : ""}>
          <dt>${title}</dt><dd data-field=${field}>${value(row, now)}</dd>
        </div>`,
      )}
    </dl>
    ${attempts.length ? attemptsTable(attempts) : nothing}
  `;
}

function attemptsTable(attempts: readonly Attempt[]): TemplateResult {
  return html`
    <div class="attempts" tabindex="0" role="group" aria-label="Attempts">
      <table>
        <thead><tr><th>#</th><th>Upstream</th><th>Ended</th><th>Code</th><th>Status</th><th>Began</th><th>First event</th></tr></thead>
        <tbody>
          ${attempts.map(
            (one) => html`<tr>
              <td>${one.attempt}</td><td title=${visibleLine(one.url ?? "")}>${visibleLine(one.upstream)}</td>
              <td>${visibleLine(one.ended ?? "running")}</td><td>${visibleLine(one.code ?? "-")}</td><td>${one.status ?? "-"}</td>
              <td>${duration(one.began_ms)}</td><td>${duration(one.first_event_ms)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}
