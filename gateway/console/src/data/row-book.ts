// The rows of the console, the newest first: loaded once, and kept up to date by the feed.

import { Changes } from "./changes.js";
import { isRunning, type Row } from "./rows.js";

/** Rows of one moment are in the order of their ids, which grow. */
function newestFirst(a: Row, b: Row): number {
  return b.began - a.began || b.id.length - a.id.length || (b.id > a.id ? 1 : -1);
}

/** Holds the rows. Listeners are told at most once per turn of `schedule`. */
export class RowBook extends Changes {
  readonly #rows = new Map<string, Row>();
  readonly #schedule: (task: () => void) => void;
  #sorted: Row[] | undefined;
  #isScheduled = false;
  /** The ids of ended rows, in the order in which they ended. */
  readonly #ended = new Set<string>();
  /** The number of the last change that has arrived. */
  seq = 0;
  /** The most ended rows; the console keeps no more either. */
  maxEnded = 2000;
  /** Whether the first load is over. */
  isLoaded = false;

  constructor(schedule: (task: () => void) => void = (task) => setTimeout(task, 60)) {
    super();
    this.#schedule = schedule;
  }

  /** The rows, the newest first. The list is not changed later; a change makes another one. */
  get rows(): readonly Row[] {
    this.#sorted ??= [...this.#rows.values()].sort(newestFirst);
    return this.#sorted;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  /** Adds or replaces rows. One that is older than the row that it would replace is passed over. */
  put(rows: Iterable<Row>): void {
    for (const row of [...rows].sort((a, b) => a.seq - b.seq)) {
      this.seq = Math.max(this.seq, row.seq);
      if ((this.#rows.get(row.id)?.seq ?? 0) > row.seq) continue;
      if (!isRunning(row)) this.#ended.add(row.id);
      this.#rows.set(row.id, row);
    }
    this.#shrink();
    this.touch();
  }

  /** Forgets all rows: the gateway has started anew. */
  clear(): void {
    this.#rows.clear();
    this.#ended.clear();
    this.seq = 0;
    this.isLoaded = false;
    this.touch();
  }

  /** Notes a change. */
  touch(): void {
    this.#sorted = undefined;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.notify();
    });
  }

  /** Drops ended rows, the oldest first. */
  #shrink(): void {
    for (const id of this.#ended) {
      if (this.#ended.size <= this.maxEnded) return;
      this.#ended.delete(id);
      this.#rows.delete(id);
    }
  }
}
