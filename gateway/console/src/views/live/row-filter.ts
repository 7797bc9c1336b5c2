// Which rows are shown: the same rules as `streams` of the API, and all failures together.

import { hasFailed, type Row } from "../../data/rows.js";

/** The value of the reason that takes all rows that failed. */
export const ANY_FAILURE = "any failure";

export interface RowFilter {
  readonly text: string;
  readonly state: string;
  readonly endpoint: string;
  readonly reason: string;
}

export const EVERY_ROW: RowFilter = { text: "", state: "", endpoint: "", reason: "" };

const SEARCHED = [
  "id",
  "request_id",
  "trace_id",
  "thread_id",
  "session_id",
  "endpoint",
  "upstream",
  "reason",
  "code",
] as const;

/** Returns the rows that meet all conditions of a filter. */
export function matching(rows: readonly Row[], filter: RowFilter): readonly Row[] {
  const text = filter.text.trim().toLowerCase();
  if (!text && !filter.state && !filter.endpoint && !filter.reason) return rows;
  return rows.filter((row) => takes(row, filter) && (!text || hasText(row, text)));
}

function takes(row: Row, { state, endpoint, reason }: RowFilter): boolean {
  if (state && row.state !== state) return false;
  if (endpoint && row.endpoint !== endpoint) return false;
  if (reason === ANY_FAILURE) return hasFailed(row);
  return !reason || row.reason === reason || row.code === reason;
}

function hasText(row: Row, text: string): boolean {
  return SEARCHED.some((name) => row[name]?.toLowerCase().includes(text));
}

/** Returns the filter in the query of an address. */
export function filterOf(query: URLSearchParams): RowFilter {
  const value = (name: string) => query.get(name) ?? "";
  return { text: value("q"), state: value("state"), endpoint: value("endpoint"), reason: value("reason") };
}

/** Returns the query of an address for a filter. */
export function queryOf(filter: RowFilter): URLSearchParams {
  const { text, ...others } = filter;
  return new URLSearchParams(Object.entries({ q: text, ...others }).filter(([, value]) => value !== ""));
}
