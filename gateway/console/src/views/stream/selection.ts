// The item that the user chose, and steps from it.

import type { Capture } from "../../capture/capture.js";
import type { Layout } from "../../capture/layout.js";
import { relatedTo } from "../../capture/relations.js";
import { type Item, LANES, type Lane } from "../../capture/shapes.js";
import { movedBy } from "../../list/window.js";

const PAGE = 20;

/** Returns the item to which a key moves; undefined: it is not a key of lanes, or there is no item. */
export function stepFrom(capture: Capture, chosen: Item | undefined, lane: Lane, key: string): Item | undefined {
  const items = capture.items[lane];
  if (key === "ArrowLeft" || key === "ArrowRight") return besides(capture, chosen, lane, key === "ArrowLeft" ? -1 : 1);
  const place =
    chosen === undefined ? -1 : chosen.lane === lane ? chosen.index : (counterpart(capture, chosen, lane)?.index ?? -1);
  const moved = movedBy(key, place, items.length, PAGE);
  return moved === undefined ? undefined : items[moved];
}

/** The item beside one, in the next lane to a side that has one. */
function besides(capture: Capture, chosen: Item | undefined, lane: Lane, side: number): Item | undefined {
  const next = LANES[LANES.indexOf(lane) + side];
  if (next === undefined) return undefined;
  const found = chosen ? counterpart(capture, chosen, next) : capture.items[next][0];
  return found ?? besides(capture, chosen, next, side);
}

/** What belongs to an item in another lane, or is next to it in time. */
export function counterpart(capture: Capture, chosen: Item, lane: Lane): Item | undefined {
  const items = capture.items[lane];
  const near = firstAt(items, chosen.t);
  const isRelated = relatedTo(capture, chosen);
  // What belongs together is close in time: some items around are enough.
  for (let distance = 0; distance < 200; distance++) {
    for (const item of [items[near - distance], items[near + distance]]) if (item && isRelated(item)) return item;
  }
  return items[Math.min(near, items.length - 1)];
}

/** The place of the first item at a time or later. */
export function firstAt(items: readonly Item[], t: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.t ?? 0) < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The place of the last event up to an item; -1: there is none. */
export function lastEventUpTo(capture: Capture, layout: Layout, item: Item): number {
  if (item.lane === "event") return item.index;
  if (item.sequences) {
    const place = capture.placeOfSequence(item.sequences[1]);
    if (place >= 0) return place;
  }
  return layout.lastEvents[capture.groups.of(item)?.place ?? -1] ?? -1;
}

/** The item that is chosen at first: the failure, or else the last event. */
export function firstChoice(capture: Capture): Item | undefined {
  const events = capture.items.event;
  for (let back = 1; back <= Math.min(20, events.length); back++) {
    const item = events.at(-back);
    const event = item?.line.event;
    if (typeof event === "object" && event !== null && "type" in event && event.type === "error") return item;
  }
  return events.at(-1) ?? capture.items.read.at(-1) ?? capture.items.write.at(-1);
}
