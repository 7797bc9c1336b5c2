/** How a stream is gone on with after a break. */
export interface ResumeOptions {
  /** How often it is tried without an event in between. */
  attempts?: number | undefined;
  /** The first wait in milliseconds; it is doubled from try to try. */
  delay?: number | undefined;
  /** The longest wait in milliseconds. */
  maxDelay?: number | undefined;
}

/** The options with their defaults. */
export const resumePlan = (
  options: boolean | ResumeOptions | undefined,
): Required<{ [K in keyof ResumeOptions]: number }> => {
  const given = typeof options === "object" ? options : {};
  return { attempts: given.attempts ?? 6, delay: given.delay ?? 500, maxDelay: given.maxDelay ?? 15_000 };
};

/** The n-th wait: between half and all of the doubled delay, so that clients do not come back all at once. */
export function waitBefore(attempt: number, plan: { delay: number; maxDelay: number }): number {
  const most = Math.min(plan.maxDelay, plan.delay * 2 ** (attempt - 1));
  return most / 2 + (Math.random() * most) / 2;
}

/** Parts of a browser's global scope that workers, Node and React Native may lack. */
interface Surroundings {
  navigator?: { onLine?: boolean };
  document?: { visibilityState?: string; addEventListener?: Listen; removeEventListener?: Listen };
  addEventListener?: Listen;
  removeEventListener?: Listen;
}
type Listen = (type: string, listener: () => void) => void;

/** A pause, and what ends it early without its promise being kept. */
export interface Pause {
  over: Promise<void>;
  drop(): void;
}

/**
 * A pause of `ms` before the next try. Offline it lasts until the network is back; a page that becomes visible tries at
 * once, unless the server has named the time (`isFixed`).
 */
export function pause(ms: number, isFixed: boolean): Pause {
  const around = globalThis as Surroundings;
  let drop = () => {};
  const over = new Promise<void>((resolve) => {
    const isOffline = () => around.navigator?.onLine === false;
    let isDue = false;
    const timer = setTimeout(() => {
      isDue = true;
      if (!isOffline()) end();
    }, ms);
    const onLine = () => end();
    const onVisible = () => {
      if (around.document?.visibilityState === "visible" && !isFixed && !isOffline()) end();
    };
    around.addEventListener?.("online", onLine);
    around.document?.addEventListener?.("visibilitychange", onVisible);
    drop = () => {
      clearTimeout(timer);
      around.removeEventListener?.("online", onLine);
      around.document?.removeEventListener?.("visibilitychange", onVisible);
    };
    function end() {
      if (isFixed && !isDue) return;
      drop();
      resolve();
    }
  });
  return { over, drop };
}
