// The plots' numbers: fifteen minutes by the second, and the last seconds as the feed brings them.

import { Changes } from "./changes.js";
import type { Plots } from "./rows.js";

const SECONDS = 900;

export class PlotHistory extends Changes {
  plots: Plots = emptyPlots();

  /** Takes all seconds. */
  replace(plots: Plots): void {
    this.plots = plots;
    this.notify();
  }

  /** Takes some seconds; those that are there already are replaced. */
  add(recent: Plots): void {
    this.plots = joinPlots(this.plots, recent);
    this.notify();
  }
}

export function emptyPlots(): Plots {
  return {
    t: [],
    open: [],
    started: [],
    first_event: { p50: [], p90: [], p99: [] },
    gap: { p50: [], p99: [] },
    reasons: {},
  };
}

/** Returns the seconds of both; in one that both have, the second's numbers. */
export function joinPlots(older: Plots, newer: Plots): Plots {
  const start = newer.t[0];
  if (start === undefined) return older;
  const cut = older.t.findIndex((second) => second >= start);
  const kept = cut < 0 ? older.t.length : cut;
  const drop = Math.max(0, kept + newer.t.length - SECONDS);
  const join = <T>(a: readonly T[] = [], b: readonly T[] = []): T[] => [...a.slice(0, kept), ...b].slice(drop);
  const reasons: Record<string, (number | null)[]> = {};
  for (const word of new Set([...Object.keys(older.reasons), ...Object.keys(newer.reasons)])) {
    reasons[word] = join(older.reasons[word] ?? older.t.map(() => 0), newer.reasons[word] ?? newer.t.map(() => 0));
  }
  return {
    t: join(older.t, newer.t),
    open: join(older.open, newer.open),
    started: join(older.started, newer.started),
    first_event: {
      p50: join(older.first_event.p50, newer.first_event.p50),
      p90: join(older.first_event.p90, newer.first_event.p90),
      p99: join(older.first_event.p99, newer.first_event.p99),
    },
    gap: { p50: join(older.gap.p50, newer.gap.p50), p99: join(older.gap.p99, newer.gap.p99) },
    reasons,
  };
}
