/** Thrown into a wait that is left. */
export const LEFT = Symbol("left");

/** A clock: its remaining milliseconds, and the value that is thrown when it has run out. */
export interface Clock {
  left: number;
  thrown: unknown;
}

const LONGEST_TIMER = 2 ** 31 - 1;
const LATE = 50;
const GRACE = 250;

/** Waits for the network: see `createPatience`. */
export interface Patience {
  /** Ends the current wait, if there is one. */
  interrupt(why: unknown): void;
  /** The result of `work`; its time is taken from every clock. Throws for the first clock that runs out. */
  wait<T>(work: Promise<T>, clocks?: Clock[]): Promise<T>;
}

/**
 * Waits for one promise at a time, so that leaving and clocks can end the wait. When it is over, no timer, no listener,
 * and no promise that lives as long as the stream is left behind.
 */
export function createPatience(): Patience {
  let interrupt = (_: unknown) => {};
  return {
    interrupt: (why) => interrupt(why),
    wait: <T>(work: Promise<T>, clocks: Clock[] = []): Promise<T> => {
      const began = performance.now();
      let disarm: (() => void)[] = [];
      const waiting = new Promise<T>((resolve, reject) => {
        interrupt = reject;
        disarm = clocks.map(({ left, thrown }) => arm(Math.max(0, left), () => reject(thrown)));
        work.then(resolve, reject);
      });
      return waiting.finally(() => {
        interrupt = () => {};
        for (const end of disarm) end();
        for (const clock of clocks) clock.left -= performance.now() - began;
      });
    },
  };
}

/**
 * Calls `ring` after `ms`. A page that has drawn for long finds its timers due before it sees the bytes that have
 * arrived meanwhile: a timer that is late waits a little more, and each waits for one more turn of the loop.
 */
function arm(ms: number, ring: () => void): () => void {
  if (ms > LONGEST_TIMER) return () => {};
  const due = performance.now() + ms;
  let timer = setTimeout(() => {
    timer = setTimeout(ring, performance.now() - due > LATE ? GRACE : 0);
  }, ms);
  return () => clearTimeout(timer);
}
