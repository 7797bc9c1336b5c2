import { callSafely } from "../request/report.js";

/** Calls listeners when a snapshot has changed. */
export interface Publisher<T> {
  subscribe(listener: () => void): () => void;
  getSnapshot(): T;
  /** Notes a change: listeners are called when the interval allows it. */
  note(): void;
  /** Makes a snapshot and calls the listeners now. */
  publish(): void;
}

/** Makes a publisher of the snapshots of `make`, which calls its listeners at most once in `interval` milliseconds. */
export function createPublisher<T>(make: () => T, interval: () => number): Publisher<T> {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  let snapshot = make();

  const publish = (): void => {
    clearTimeout(timer);
    timer = undefined;
    last = performance.now();
    snapshot = make();
    for (const listener of [...listeners]) callSafely(listener);
  };

  return {
    publish,
    getSnapshot: () => snapshot,
    subscribe(listener) {
      const own = () => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    note() {
      if (timer !== undefined) return;
      const wait = last + interval() - performance.now();
      if (wait > 0) timer = setTimeout(publish, wait);
      else publish();
    },
  };
}
