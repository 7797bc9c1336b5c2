import { expect, test } from "vitest";
import { matchPath } from "../src/shell/match-path.js";

test("path with a parameter gives it decoded", () => {
  expect(matchPath("/streams/:id", "/streams/a%2Fb")).toEqual({ id: "a/b" });
  expect(matchPath("/streams/:id", "/streams/a%")).toEqual({ id: "a%" });
  expect(matchPath("/", "/")).toEqual({});
  expect(matchPath("/config", "/config/")).toEqual({});
});

test("path of another view gives nothing", () => {
  expect(matchPath("/streams/:id", "/streams")).toBeUndefined();
  expect(matchPath("/", "/config")).toBeUndefined();
});
