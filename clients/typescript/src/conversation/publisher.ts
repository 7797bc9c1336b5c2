import { callSafely } from "../request/report.js";

/** Tells listeners that a snapshot has changed, at most once in `interval` milliseconds. */
export class Publisher<T> {
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #last = Number.NEGATIVE_INFINITY;
  #snapshot: T;

  constructor(
    private readonly make: (before: T | null) => T,
    private readonly interval: () => number,
  ) {
    this.#snapshot = make(null);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  readonly getSnapshot = (): T => this.#snapshot;

  /** Something has changed: listeners are told when the interval allows it. */
  note(): void {
    if (this.#timer !== null) return;
    const wait = this.#last + this.interval() - performance.now();
    if (wait <= 0) return this.publish();
    this.#timer = setTimeout(() => this.publish(), wait);
  }

  /** Listeners are told now. */
  publish(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#last = performance.now();
    this.#snapshot = this.make(this.#snapshot);
    for (const listener of [...this.#listeners]) callSafely(listener);
  }
}
