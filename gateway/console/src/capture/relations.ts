// What belongs together in the three lanes.

import type { Capture } from "./capture.js";
import type { Item } from "./shapes.js";

/** Tells whether an item is selected together with the one that the user chose. */
export type Related = (item: Item) => boolean;

/** Returns what belongs to an item: itself in its own lane, and in the others the items that it led to or came from. */
export function relatedTo(capture: Capture, chosen: Item | undefined): Related {
  if (chosen === undefined) return () => false;
  const others = { read: ofRead, event: ofEvent, write: ofWrite }[chosen.lane](capture, chosen);
  return (item) => (item.lane === chosen.lane ? item.index === chosen.index : others(item));
}

function ofRead(capture: Capture, chosen: Item): Related {
  const events = capture.items.event;
  let first = Number.POSITIVE_INFINITY;
  let last = -1;
  for (let place = firstEventOf(events, chosen.index); events[place]?.readIndex === chosen.index; place++) {
    const n = events[place]?.n ?? 0;
    first = Math.min(first, n);
    last = Math.max(last, n);
  }
  return (item) => {
    if (item.readIndex === chosen.index) return true;
    return (
      item.lane === "write" && item.sequences !== undefined && item.sequences[0] <= last && item.sequences[1] >= first
    );
  };
}

/** The place of the first event of a read. Events are in the order of their reads; those of no read may be in between. */
function firstEventOf(events: readonly Item[], read: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    let place = middle;
    while (place < high && (events[place]?.readIndex ?? -1) < 0) place++;
    if (place === high || (events[place]?.readIndex ?? -1) >= read) high = middle;
    else low = place + 1;
  }
  while (low < events.length && (events[low]?.readIndex ?? -1) < 0) low++;
  return low;
}

function ofEvent(_capture: Capture, chosen: Item): Related {
  return (item) => {
    if (item.lane === "read") return item.index === chosen.readIndex;
    if (item.sequences) return item.sequences[0] <= chosen.n && chosen.n <= item.sequences[1];
    return chosen.readIndex >= 0 && item.readIndex === chosen.readIndex;
  };
}

function ofWrite(capture: Capture, chosen: Item): Related {
  const { sequences } = chosen;
  const reads = new Set(chosen.readIndex >= 0 ? [chosen.readIndex] : []);
  if (sequences) {
    const end = capture.placeOfSequence(sequences[1]);
    for (let place = capture.placeOfSequence(sequences[0]); place >= 0 && place <= end; place++) {
      reads.add(capture.items.event[place]?.readIndex ?? -1);
    }
  }
  return (item) => {
    if (item.lane === "read") return reads.has(item.index);
    if (sequences) return sequences[0] <= item.n && item.n <= sequences[1];
    return item.readIndex >= 0 && item.readIndex === chosen.readIndex;
  };
}
