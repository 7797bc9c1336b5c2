/** Reports what a callback of the page has thrown: it must not stop a stream, nor get lost. */
export function reportException(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void };
  if (typeof reportError === "function") reportError(error);
  else console.error(error);
}

/** Calls a callback of the page; what it throws, now or later, is reported. */
export function callSafely<A extends unknown[]>(
  callback: ((...args: A) => unknown) | null | undefined,
  ...args: A
): void {
  try {
    const result = callback?.(...args);
    if (result instanceof Promise) result.catch(reportException);
  } catch (error) {
    reportException(error);
  }
}
