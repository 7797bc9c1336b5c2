// The columns of the table of streams.

import { hasFailed, isRunning, type Row } from "../../data/rows.js";
import { count, duration } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";

export interface Column {
  /** The field of the row. */
  readonly field: string;
  readonly title: string;
  /** Whether it holds numbers, which are set to the right. */
  readonly isNumber?: boolean;
  /** The text of a cell; `now`: Unix milliseconds. */
  text(row: Row, now: number): string;
}

const NOTHING = "-";

function plain(field: "request_id" | "endpoint" | "upstream" | "speaks" | "answers" | "state", title: string): Column {
  return { field, title, text: (row) => visibleLine(row[field] ?? NOTHING) };
}

export const COLUMNS: readonly Column[] = [
  plain("request_id", "Request"),
  plain("endpoint", "Endpoint"),
  plain("upstream", "Upstream"),
  plain("speaks", "Speaks"),
  plain("answers", "Answers"),
  plain("state", "State"),
  { field: "duration_ms", title: "Age", isNumber: true, text: (row, now) => duration(ageOf(row, now)) },
  { field: "first_event_ms", title: "First", isNumber: true, text: (row) => duration(row.first_event_ms) },
  { field: "events", title: "Events", isNumber: true, text: (row) => count(row.events) },
  { field: "max_gap_ms", title: "Gap", isNumber: true, text: (row) => duration(row.max_gap_ms) },
  { field: "reason", title: "Reason", text: (row) => visibleLine(reasonOf(row) ?? NOTHING) },
  { field: "hint", title: "Why, and what was mended", text: (row) => visibleLine(remarkOf(row)) },
];

/** How long a request took, or has taken until now, in milliseconds. */
export function ageOf(row: Row, now: number): number | null {
  return isRunning(row) ? Math.max(0, now - row.began) : row.duration_ms;
}

export function reasonOf(row: Row): string | null {
  return row.state === "refused" ? row.code : (row.reason ?? null);
}

/** Returns `bad`, `warn`, `good` or nothing: how a row is marked. */
export function toneOf(row: Row): string {
  if (hasFailed(row)) return "bad";
  if (isRunning(row)) return "running";
  if (row.malformed || row.repairs || row.warnings) return "warn";
  return row.reason === "done" || row.reason === "interaction" ? "good" : "";
}

/** The hint of the log, or the code of the failure, and what had to be mended. */
export function remarkOf(row: Row): string {
  const counted = (["repairs", "malformed", "warnings"] as const)
    .filter((name) => row[name])
    .map((name) => `${row[name]} ${name === "malformed" ? "malformed" : row[name] === 1 ? name.slice(0, -1) : name}`);
  if (row.attempts !== null && row.attempts > 1) counted.unshift(`${row.attempts} attempts`);
  const code = row.state === "ended" && row.code && row.code !== row.reason ? row.code : null;
  return [row.hint ?? code, ...counted].filter(Boolean).join(" · ");
}
