/** Thrown into a wait that is left. */
export const LEFT = Symbol("left");

/** Thrown into a wait whose clock has run out; `reason` says which. */
export class ClockRanOut {
  constructor(readonly reason: "first_event_timeout" | "idle_timeout" | "total_timeout") {}
}

/** A clock: how many milliseconds are left of it, and what it is. */
export interface Clock {
  left: number;
  reason: ClockRanOut["reason"];
}

const LONGEST_TIMER = 2 ** 31 - 1;
const LATE = 50;
const GRACE = 250;

/**
 * Waits for the network, one promise at a time, so that leaving and clocks can end the wait. Nothing is left behind
 * when it is over: no timer, no listener, no promise that lives as long as the stream.
 */
export class Patience {
  #interrupt: ((why: unknown) => void) | null = null;

  /** Ends the wait that is on, if there is one. */
  interrupt(why: unknown): void {
    this.#interrupt?.(why);
  }

  /** What `work` gives; every clock has lost the time that it took. Throws `ClockRanOut` of the first that runs out. */
  async wait<T>(work: Promise<T>, clocks: Clock[]): Promise<T> {
    const began = performance.now();
    const [first] = [...clocks].sort((a, b) => a.left - b.left);
    let disarm = () => {};
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#interrupt = reject;
        if (first) disarm = arm(first.left, () => reject(new ClockRanOut(first.reason)));
        work.then(resolve, reject);
      });
    } finally {
      disarm();
      this.#interrupt = null;
      const took = performance.now() - began;
      for (const clock of clocks) clock.left -= took;
    }
  }
}

/**
 * Calls `ring` after `ms`. A page that has drawn for long finds its timers due before it sees what has arrived
 * meanwhile: one that is late waits a little more, and each waits for one more turn of the loop.
 */
function arm(ms: number, ring: () => void): () => void {
  if (ms > LONGEST_TIMER) return () => {};
  const due = performance.now() + Math.max(0, ms);
  let timer = setTimeout(
    () => {
      timer = setTimeout(ring, performance.now() - due > LATE ? GRACE : 0);
    },
    Math.max(0, ms),
  );
  return () => clearTimeout(timer);
}
