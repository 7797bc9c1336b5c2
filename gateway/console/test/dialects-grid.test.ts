import { describe, expect, test } from "vitest";
import { Grid } from "../src/views/dialects/grid.js";

const grid = new Grid({
  names: ["standard", "a2a", "legacy"],
  cells: [
    { from: "standard", to: "standard", lost: [] },
    { from: "standard", to: "legacy", lost: ["status"] },
    { from: "a2a", to: "standard", lost: [] },
    { from: "a2a", to: "legacy", lost: ["reference", "status"] },
    { from: "legacy", to: "standard", lost: [] },
    { from: "legacy", to: "legacy", lost: [] },
  ],
});

describe("Grid", () => {
  test("leaves out columns of dialects that are not written", () => {
    expect(grid.rows).toEqual(["standard", "a2a", "legacy"]);
    expect(grid.columns).toEqual(["standard", "legacy"]);
    expect(grid.lost({ row: 1, column: 1 })).toEqual(["reference", "status"]);
  });

  test("moves within its borders", () => {
    expect(grid.next({ row: 0, column: 0 }, "ArrowUp")).toEqual({ row: 0, column: 0 });
    expect(grid.next({ row: 2, column: 1 }, "ArrowRight")).toEqual({ row: 2, column: 1 });
    expect(grid.next({ row: 1, column: 0 }, "End")).toEqual({ row: 1, column: 1 });
    expect(grid.next({ row: 1, column: 0 }, "x")).toBeUndefined();
  });
});
