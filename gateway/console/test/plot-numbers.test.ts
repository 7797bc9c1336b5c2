import { expect, test } from "vitest";
import { emptyPlots, joinPlots } from "../src/data/plot-history.js";
import type { Plots } from "../src/data/rows.js";
import { lastOf, rateOf, reasonCounts, smoothed, stacked } from "../src/views/live/plot-numbers.js";

function plotsOf(t: number[], started: number[], reasons: Plots["reasons"] = {}): Plots {
  const none = t.map(() => null);
  const first_event = { p50: none, p90: none, p99: none };
  return { t, open: started, started, first_event, gap: { p50: none, p99: none }, reasons };
}

test("seconds that were sent before are replaced, later ones are added", () => {
  const joined = joinPlots(
    plotsOf([1, 2, 3], [1, 1, 1], { done: [1, 0, 0] }),
    plotsOf([3, 4], [7, 8], { lost: [2, 2] }),
  );
  expect(joined.t).toEqual([1, 2, 3, 4]);
  expect(joined.started).toEqual([1, 1, 7, 8]);
  expect(joined.reasons).toEqual({ done: [1, 0, 0, 0], lost: [0, 0, 2, 2] });
  expect(joinPlots(joined, emptyPlots())).toBe(joined);
});

test("history keeps fifteen minutes in all of its lists", () => {
  let plots = emptyPlots();
  for (let t = 0; t < 1000; t++) plots = joinPlots(plots, plotsOf([t], [t], { done: [1] }));
  expect(plots.t).toHaveLength(900);
  expect(plots.t[0]).toBe(100);
  expect(plots.reasons.done).toHaveLength(900);
});

test("numbers of tiles are the newest", () => {
  expect(lastOf([1, null, 3, null])).toBe(3);
  expect(lastOf([])).toBeNull();
  expect(rateOf([...Array(50).fill(9), ...Array(10).fill(2)])).toBe("2");
  expect(smoothed([10, ...Array(10).fill(0)]).at(-1)).toBe(0);
});

test("bars lie on each other and hold every end", () => {
  const t = [...Array(900).keys()];
  const reasons = {
    done: t.map(() => 1),
    client_gone: t.map(() => 1),
    idle_timeout: t.map(() => 2),
    new_word: t.map(() => 0),
  };
  const { series } = stacked(plotsOf(t, t, reasons));
  expect(series.map((one) => one.reduce((sum, value) => sum + value, 0))).toEqual([1800, 2700, 3600]);
  expect(reasonCounts(plotsOf(t, t, reasons))).toEqual([
    ["idle_timeout", 1800],
    ["done", 900],
    ["client_gone", 900],
  ]);
});
