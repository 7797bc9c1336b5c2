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

/** Returns each second's mean of it and the seconds before, so that single streams do not draw a comb. */
export function smoothed(numbers: Numbers): number[] {
  let sum = 0;
  return numbers.map((value, place) => {
    sum += (value ?? 0) - (place >= RATE_SECONDS ? (numbers[place - RATE_SECONDS] ?? 0) : 0);
    return Math.max(0, sum / Math.min(place + 1, RATE_SECONDS));
  });
}

export interface Buckets {
  readonly t: number[];
  readonly series: number[][];
}

/**
 * Returns three series for bars that lie on each other, in some sixty buckets of time: failures; these and ends on the
 * client's wish; these and good ends.
 */
export function stacked(plots: Plots): Buckets {
  const width = Math.max(1, Math.ceil(plots.t.length / BUCKETS));
  const t = plots.t.filter((_, place) => place % width === 0);
  const series = [0, 1, 2].map(() => t.map(() => 0));
  for (const [word, numbers] of Object.entries(plots.reasons)) {
    const kind = GOOD.includes(word) ? 2 : NEUTRAL.includes(word) ? 1 : 0;
    for (const [place, value] of numbers.entries()) {
      const bucket = Math.floor(place / width);
      for (const one of series.slice(kind)) one[bucket] = (one[bucket] ?? 0) + (value ?? 0);
    }
  }
  return { t, series };
}
