// Which items of a long list are in sight.

export interface Range {
  /** The first item. */
  readonly start: number;
  /** The one behind the last. */
  readonly end: number;
}

/** Returns the items of a list of equal heights that are in sight, and some before and behind them. */
export function visibleRange(top: number, height: number, itemHeight: number, count: number, overscan = 8): Range {
  const start = Math.min(count, Math.max(0, Math.floor(top / itemHeight) - overscan));
  const end = Math.min(count, Math.ceil((top + height) / itemHeight) + overscan);
  return { start, end: Math.max(start, end) };
}

/** Returns the place to which a key moves in a list; undefined: it is not a key of lists. `place` -1: nowhere yet. */
export function movedBy(key: string, place: number, count: number, page: number): number | undefined {
  const last = count - 1;
  const moves: Record<string, number> = {
    ArrowDown: place + 1,
    ArrowUp: place < 0 ? last : place - 1,
    PageDown: place + page,
    PageUp: place - page,
    Home: 0,
    End: last,
  };
  const moved = moves[key];
  return moved === undefined ? undefined : Math.max(0, Math.min(last, moved));
}

/** Returns how far a list has to be scrolled so that an item is in sight. */
export function scrolledTo(top: number, height: number, itemTop: number, itemHeight: number, covered = 0): number {
  if (itemTop - covered < top) return Math.max(0, itemTop - covered);
  if (itemTop + itemHeight > top + height) return itemTop + itemHeight - height;
  return top;
}
