// Numbers of plots, prepared for tiles.

import type { Plots } from "../../data/rows.js";

type Numbers = readonly (number | null)[];

const RATE_SECONDS = 10;
const BUCKETS = 60;
const GOOD = ["done", "interaction"];
const NEUTRAL = ["cancelled", "client_gone"];

/** Returns the newest number; null if there is none. */
export function lastOf(numbers: Numbers): number | null {
  for (let place = numbers.length - 1; place >= 0; place--) {
    const value = numbers[place];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

/** Returns the mean of the last ten seconds, in words. */
export function rateOf(started: Numbers): string {
  const last = started.slice(-RATE_SECONDS);
  if (last.length === 0) return "0";
  const mean = last.reduce<number>((sum, value) => sum + (value ?? 0), 0) / last.length;
  return mean >= 10 ? String(Math.round(mean)) : String(Number(mean.toFixed(1)));
}

/** Returns how many streams ended for each reason, the most frequent first. */
export function reasonCounts(plots: Plots): [word: string, count: number][] {
  return Object.entries(plots.reasons)
    .map(([word, numbers]): [string, number] => [word, numbers.reduce<number>((sum, value) => sum + (value ?? 0), 0)])
    .filter(([, many]) => many > 0)
    .sort((a, b) => b[1] - a[1]);
}

/**
 * Returns three series for bars that lie on each other: failures, ends on the client's wish, good ends. All of a bucket
 * are in its first second, since a bar of one second is too thin to be seen.
 */
export function stacked(plots: Plots): (number | null)[][] {
  const sums = [0, 1, 2].map(() => plots.t.map((): number | null => null));
  const width = Math.max(1, Math.ceil(plots.t.length / BUCKETS));
  for (const [word, numbers] of Object.entries(plots.reasons)) {
    const kind = GOOD.includes(word) ? 2 : NEUTRAL.includes(word) ? 1 : 0;
    for (const [place, value] of numbers.entries()) {
      if (!value) continue;
      const bucket = place - (place % width);
      // What lies below counts in all above it.
      for (let above = kind; above < 3; above++) {
        const series = sums[above];
        if (series) series[bucket] = (series[bucket] ?? 0) + value;
      }
    }
  }
  return sums;
}
