// Numbers for people.

const NOTHING = "-";

/** Returns a duration: `810 ms`, `12.4 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms < 999.5) return `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Returns a number of bytes: `812 B`, `1.2 KiB`, `64 MiB`. */
export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined || !Number.isFinite(count)) return NOTHING;
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Returns a whole number with thin spaces between its thousands. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Returns a moment of a day: `14:03:22.120`. */
export function timeOfDay(unixMs: number): string {
  const date = new Date(unixMs);
  if (Number.isNaN(date.getTime())) return NOTHING;
  const pad = (value: number, width = 2) => String(value).padStart(width, "0");
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}
