import { expect, test } from "vitest";
import { RowBook } from "../src/data/row-book.js";
import type { Row } from "../src/data/rows.js";

const row = (n: number, more: Partial<Row> = {}): Row =>
  ({ id: `r${n}`, seq: n, began: n, state: "ended", reason: "done", ...more }) as Row;

function book(): { rows: RowBook; run(): void } {
  const tasks: (() => void)[] = [];
  return { rows: new RowBook((task) => tasks.push(task)), run: () => tasks.splice(0).map((task) => task()) };
}

test("rows are the newest first, whatever the order in which they come", () => {
  const { rows } = book();
  rows.put([row(2), row(3), row(1)]);
  expect(rows.rows.map(({ id }) => id)).toEqual(["r3", "r2", "r1"]);
  expect(rows.seq).toBe(3);
});

test("row older than the one it would replace is passed over", () => {
  const { rows } = book();
  rows.put([row(1, { seq: 5 })]);
  rows.put([row(1, { seq: 4, reason: "lost" })]);
  expect(rows.get("r1")?.reason).toBe("done");
});

test("ended rows beyond the limit are dropped in the order of their ends, running ones are kept", () => {
  const { rows } = book();
  rows.maxEnded = 2;
  rows.put([row(1, { state: "streaming" }), row(2), row(3), row(4)]);
  expect(rows.rows.map(({ id }) => id)).toEqual(["r4", "r3", "r1"]);
  rows.put([row(1, { seq: 9 })]);
  expect(rows.rows.map(({ id }) => id)).toEqual(["r4", "r1"]);
});

test("many changes tell listeners once", () => {
  const { rows, run } = book();
  let told = 0;
  rows.subscribe(() => told++);
  for (let n = 0; n < 100; n++) rows.put([row(n)]);
  run();
  expect(told).toBe(1);
});
