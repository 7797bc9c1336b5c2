/** How a stream is resumed after a break. */
export interface ResumeOptions {
  /** The number of tries without an event in between. */
  attempts?: number | undefined;
  /** The first wait in milliseconds; it is doubled from try to try. */
  delay?: number | undefined;
  /** The longest wait in milliseconds. */
  maxDelay?: number | undefined;
}

/**
 * The milliseconds before the n-th try since the last event: `named` if the server asks for more, else between half and
 * all of the doubled delay, so that clients do not come back all at once. Null if there is no such try.
 */
export function delayBefore(
  attempt: number,
  named: number,
  options: boolean | ResumeOptions | undefined,
): number | null {
  const { attempts = 6, delay = 500, maxDelay = 15_000 } = typeof options === "object" ? options : {};
  if (options === false || attempt > attempts) return null;
  const longest = Math.min(maxDelay, delay * 2 ** (attempt - 1));
  return Math.max(named, (longest * (1 + Math.random())) / 2);
}

/** Parts of a browser's global scope that workers, Node and React Native may lack. */
interface Surroundings {
  navigator?: { onLine?: boolean };
  document?: { visibilityState?: string; addEventListener: Listen; removeEventListener: Listen };
  addEventListener?: Listen;
  removeEventListener?: Listen;
}
type Listen = (type: string, listener: () => void) => void;

/** A pause; `drop` ends it early, and its promise then stays pending. */
export interface Pause {
  over: Promise<void>;
  drop(): void;
}

/**
 * A pause of `ms` before the next try. While the browser is offline it does not end. If the server has not named the time
 * (`isFixed`), it ends early when the network is back or the page becomes visible.
 */
export function pause(ms: number, isFixed: boolean): Pause {
  const around = globalThis as Surroundings;
  let drop = () => {};
  const over = new Promise<void>((resolve) => {
    let isDue = false;
    const wake = () => {
      const mayTry = isDue || (!isFixed && around.document?.visibilityState !== "hidden");
      if (!mayTry || around.navigator?.onLine === false) return;
      drop();
      resolve();
    };
    const timer = setTimeout(() => {
      isDue = true;
      wake();
    }, ms);
    around.addEventListener?.("online", wake);
    around.document?.addEventListener("visibilitychange", wake);
    drop = () => {
      clearTimeout(timer);
      around.removeEventListener?.("online", wake);
      around.document?.removeEventListener("visibilitychange", wake);
    };
  });
  return { over, drop };
}
