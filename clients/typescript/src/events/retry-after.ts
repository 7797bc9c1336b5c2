const A_DAY = 86_400_000;

/** The wait of a `Retry-After` header in milliseconds: from seconds, or a date; undefined for neither. */
export function parseRetryAfter(value: string | null): number | undefined {
  const text = value?.trim() ?? "";
  const isSeconds = /^\d+(\.\d+)?$/.test(text);
  const wait = isSeconds ? Math.round(+text * 1000) : /[A-Za-z]/.test(text) ? Date.parse(text) - Date.now() : NaN;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(0, wait), A_DAY);
}
