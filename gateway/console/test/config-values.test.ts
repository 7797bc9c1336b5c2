import { expect, test } from "vitest";
import { matchingValues } from "../src/views/config/value-table.js";

const VALUES = [
  { path: "listen", value: "127.0.0.1:8080", origin: "config.yaml:17" },
  { path: "endpoints./chat.retries.attempts", value: 1, origin: "default" },
  { path: "endpoints./chat.answers", value: ["standard", "legacy"], origin: "config.yaml:30" },
];

test("values are found by path, value and origin, in any case", () => {
  expect(matchingValues(VALUES, "LISTEN", false)).toEqual([VALUES[0]]);
  expect(matchingValues(VALUES, "legacy", false)).toEqual([VALUES[2]]);
  expect(matchingValues(VALUES, "yaml:17", false)).toEqual([VALUES[0]]);
  expect(matchingValues(VALUES, "", true)).toEqual([VALUES[0], VALUES[2]]);
});
