// The table of losses: a row for each dialect that is read, a column for each that is written.

import type { Losses } from "../../data/config.js";

export interface Place {
  readonly row: number;
  readonly column: number;
}

export class Grid {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly #lost = new Map<string, readonly string[]>();

  constructor(losses: Losses) {
    const sources = new Set(losses.cells.map(({ from }) => from));
    const targets = new Set(losses.cells.map(({ to }) => to));
    this.rows = losses.names.filter((name) => sources.has(name));
    this.columns = losses.names.filter((name) => targets.has(name));
    for (const { from, to, lost } of losses.cells) this.#lost.set(JSON.stringify([from, to]), lost);
  }

  /** Returns the kinds of events that the column's dialect cannot say and the row's can. */
  lost({ row, column }: Place): readonly string[] {
    return this.#lost.get(JSON.stringify([this.rows[row], this.columns[column]])) ?? [];
  }

  /** Returns the place that a key moves to; undefined: the key does not move. */
  next({ row, column }: Place, key: string): Place | undefined {
    switch (key) {
      case "ArrowUp":
        return this.within({ row: row - 1, column });
      case "ArrowDown":
        return this.within({ row: row + 1, column });
      case "ArrowLeft":
        return this.within({ row, column: column - 1 });
      case "ArrowRight":
        return this.within({ row, column: column + 1 });
      case "Home":
        return { row, column: 0 };
      case "End":
        return { row, column: this.columns.length - 1 };
      default:
        return undefined;
    }
  }

  /** Returns the nearest place that exists. */
  within({ row, column }: Place): Place {
    return {
      row: Math.max(0, Math.min(row, this.rows.length - 1)),
      column: Math.max(0, Math.min(column, this.columns.length - 1)),
    };
  }
}
