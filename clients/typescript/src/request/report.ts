/** Reports an exception of the page's own function: it must not stop a stream, nor get lost. */
const report = (error: unknown): void => (globalThis.reportError ?? console.error)(error);

/** Calls a function of the page. Its exception, or the rejection of its promise, is reported. */
export function callSafely<A extends unknown[]>(
  callback: ((...args: A) => unknown) | null | undefined,
  ...args: A
): void {
  if (callback) new Promise((resolve) => resolve(callback(...args))).catch(report);
}
