// Items that begin at the same height: a read, its events, and the writes that brought these to the client.

import type { Item, Lane, Mark } from "./shapes.js";

export interface Group {
  /** Its place among all groups. */
  readonly place: number;
  /** Milliseconds of the first item. */
  readonly t: number;
  /** Whether it belongs to a read; otherwise to a clock, a heartbeat, an end. */
  readonly isOfRead: boolean;
  readonly read: Item[];
  readonly event: Item[];
  readonly write: Item[];
  readonly marks: Mark[];
}

/** What belongs to no read and comes so soon after each other is one group: the events of an end, its marks, its write. */
const SAME_MS = 5;

/** Puts items into groups in the order of the lines. */
export class Groups {
  readonly all: Group[] = [];
  readonly #of: Readonly<Record<Lane, Group[]>> = { read: [], event: [], write: [] };

  /** The group of an item; undefined: the item is of another capture. */
  of(item: Item): Group | undefined {
    return this.#of[item.lane][item.index];
  }

  /** Adds an item. `firstEvent`: of a write, the place of the first event in it. */
  add(item: Item, firstEvent = -1): void {
    const group = this.#groupOf(item, firstEvent);
    this.#of[item.lane][item.index] = group;
    group[item.lane].push(item);
  }

  addMark(mark: Mark): void {
    const group = this.#of.read[mark.readIndex] ?? (mark.target ? this.#of.event[mark.target.index] : undefined);
    (group ?? this.#atTime(mark.t)).marks.push(mark);
  }

  #groupOf(item: Item, firstEvent: number): Group {
    if (item.lane === "read") return this.#begin(item.t, true);
    return this.#of.read[item.readIndex] ?? this.#of.event[firstEvent] ?? this.#atTime(item.t);
  }

  /** The last group, if it belongs to no read and is of this time; else a new one. */
  #atTime(t: number): Group {
    const last = this.all.at(-1);
    return last && !last.isOfRead && t - last.t < SAME_MS ? last : this.#begin(t, false);
  }

  #begin(t: number, isOfRead: boolean): Group {
    const group: Group = { place: this.all.length, t, isOfRead, read: [], event: [], write: [], marks: [] };
    this.all.push(group);
    return group;
  }
}

/** Returns how many rows a group takes. */
export function rowsOf(group: Group): number {
  return Math.max(group.read.length, group.event.length, group.write.length, group.marks.length, 1);
}
