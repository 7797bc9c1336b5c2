// Where groups of items are on the time axis, which runs downwards.

import { type Group, rowsOf } from "./groups.js";

export const ROW = 22;
/** The height of the line that stands for a silence. */
export const SILENCE_ROW = 26;
const LEAST_SILENCE_MS = 1000;
const USUAL_GAPS = 5;

export interface Layout {
  /** The upper edge of each group. */
  readonly tops: Float64Array;
  /** The length of the silence before each group in milliseconds; 0: there is none. */
  readonly silences: Float64Array;
  /** The place of the last event in each group or in one before it; -1: there is none yet. */
  readonly lastEvents: Int32Array;
  readonly height: number;
}

/** Places groups one below the other. Time between them is a little room; a long silence is one line. */
export function layOut(groups: readonly Group[]): Layout {
  const tops = new Float64Array(groups.length);
  const silences = new Float64Array(groups.length);
  const lastEvents = new Int32Array(groups.length);
  const longest = Math.max(LEAST_SILENCE_MS, USUAL_GAPS * usualGap(groups));
  let height = 4;
  let lastEvent = -1;
  for (const [place, group] of groups.entries()) {
    const gap = place === 0 ? 0 : group.t - (groups[place - 1]?.t ?? 0);
    if (gap > longest || (gap > LEAST_SILENCE_MS && group.marks.some(({ what }) => what === "silence"))) {
      silences[place] = gap;
      height += SILENCE_ROW;
    } else height += roomOf(gap);
    tops[place] = height;
    lastEvent = Math.max(lastEvent, group.event.at(-1)?.index ?? -1);
    lastEvents[place] = lastEvent;
    height += rowsOf(group) * ROW;
  }
  return { tops, silences, lastEvents, height: height + 4 };
}

/** Returns some pixels for milliseconds: the rhythm of a stream is seen, and takes no room. */
function roomOf(ms: number): number {
  return ms <= 0 ? 0 : Math.min(10, Math.round(Math.log2(1 + ms / 25)));
}

/** Returns a gap that a quarter of all gaps does not exceed: silences themselves must not make it longer. */
function usualGap(groups: readonly Group[]): number {
  const gaps = new Float64Array(Math.max(0, groups.length - 1));
  for (let place = 1; place < groups.length; place++) {
    gaps[place - 1] = (groups[place]?.t ?? 0) - (groups[place - 1]?.t ?? 0);
  }
  if (gaps.length < 2) return 0;
  return gaps.sort()[gaps.length >> 2] ?? 0;
}

/** Returns the place of the last group that begins at or above a height; 0 if all begin below it. */
export function groupAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}
