import { expect, test } from "vitest";
import type { Row } from "../src/data/rows.js";
import { ANY_FAILURE, EVERY_ROW, filterOf, matching, queryOf } from "../src/views/live/row-filter.js";

const rows = [
  { id: "1", request_id: "req_A", endpoint: "/chat", state: "ended", reason: "done", code: null },
  { id: "2", request_id: "req_b", endpoint: "/chat", state: "ended", reason: "idle_timeout", code: "UPSTREAM_TIMEOUT" },
  { id: "3", request_id: "req_c", endpoint: null, state: "refused", reason: null, code: "ENDPOINT_NOT_FOUND" },
  { id: "4", request_id: "req_d", endpoint: "/x", state: "streaming", reason: null, code: null },
  { id: "5", request_id: "req_e", endpoint: "/x", state: "ended", reason: "client_gone", code: null },
] as unknown as Row[];

const ids = (filter: object) =>
  matching(rows, { ...EVERY_ROW, ...filter })
    .map(({ id }) => id)
    .join("");

test.each([
  [{}, "12345"],
  [{ state: "ended" }, "125"],
  [{ endpoint: "/chat" }, "12"],
  [{ reason: "done" }, "1"],
  [{ reason: "UPSTREAM_TIMEOUT" }, "2"],
  [{ reason: ANY_FAILURE }, "23"],
  [{ text: "REQ_a" }, "1"],
  [{ text: " not_found " }, "3"],
  [{ text: "chat", reason: ANY_FAILURE }, "2"],
])("filter %j takes the rows %s", (filter, wanted) => {
  expect(ids(filter)).toBe(wanted);
});

test("filter survives in the query of the address", () => {
  const filter = { text: "a&b", state: "ended", endpoint: "/chat/{x}", reason: "" };
  expect(filterOf(new URLSearchParams(queryOf(filter).toString()))).toEqual(filter);
  expect(queryOf(EVERY_ROW).toString()).toBe("");
});
