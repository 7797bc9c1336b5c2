import type { BodySource } from "./body-source.js";

/** Headers in any form of `HeadersInit`, which not every set of types has. */
export type HeadersLike =
  | { forEach(callback: (value: string, name: string) => void): void }
  | readonly (readonly [string, string])[]
  | Readonly<Record<string, string>>;

/** A value, or a function that gives it for each request. */
export type Source<T> = T | (() => T | Promise<T>);

/** Headers, or a function that gives them for each request. */
export type HeadersSource = Source<HeadersLike>;

/** Options of a request that `fetch` gets unchanged: `credentials`, `mode`, `cache` ... */
export type FetchOptions = Omit<RequestInit, "body" | "headers" | "method" | "signal">;

/** The value of a source for this request. */
export const givenBy = async <T>(source: Source<T>): Promise<T> =>
  typeof source === "function" ? await (source as () => T | Promise<T>)() : source;

/** The headers `given`, and those of `own` that they lack and that are not null. Names count without regard to case. */
export function mergedHeaders(own: Record<string, string | null>, given: HeadersLike = {}): Headers {
  const headers = new Headers(given as HeadersInit);
  for (const [name, value] of Object.entries(own)) if (value !== null && !headers.has(name)) headers.set(name, value);
  return headers;
}

/** Types of bodies that `fetch` sends as they are. A runtime may lack some of them. */
const SENT_AS_IS = ["ArrayBuffer", "Blob", "FormData", "URLSearchParams"];

/** The body of a request, and its media type if `fetch` does not know it. */
export function encodedBody(body: unknown): [body: RequestInit["body"] | undefined, type: string | null] {
  const isSentAsIs =
    typeof body === "string" ||
    ArrayBuffer.isView(body) ||
    SENT_AS_IS.some((name) => {
      const known = (globalThis as Record<string, unknown>)[name];
      return typeof known === "function" && body instanceof known;
    });
  if (body === undefined || body === null || isSentAsIs) return [body as RequestInit["body"], null];
  return [JSON.stringify(body), "application/json"];
}

/** A random id. `randomUUID` is missing in a page that is not served securely, and React Native may lack `crypto`. */
export function randomId(prefix: string): string {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  globalThis.crypto?.getRandomValues?.(bytes);
  return prefix + Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join("");
}

/** The address of the run of an answer; null if it names no run, or one of another origin. */
export function runUrlOf(response: Response, requestUrl: string): string | null {
  const location = response.headers.get("content-location");
  if (!location || !response.headers.get("x-streamweir-run")) return null;
  try {
    const base = new URL(response.url || requestUrl, globalThis.location?.href);
    const found = new URL(location, base);
    return found.origin === base.origin ? found.href : null;
  } catch {
    return null;
  }
}

/** The address at which a run is stopped. */
export const cancelUrlOf = (runUrl: string): string => runUrl.replace(/\/?([?#].*)?$/s, "/cancel");

const MOST_CHARACTERS = 65_536;
const LONGEST_MS = 2000;

/** The text of a refusal: at most 64 KiB, and as much of it as comes within two seconds. Never fails. */
export async function refusalText(source: BodySource): Promise<string> {
  const decoder = new TextDecoder();
  const timer = setTimeout(source.close, LONGEST_MS);
  let text = "";
  try {
    while (text.length < MOST_CHARACTERS) {
      const { done, value = "" } = await source.read();
      if (done) break;
      text += typeof value === "string" ? value : decoder.decode(value, { stream: true });
    }
  } catch {
    // the part that has come is read
  }
  clearTimeout(timer);
  source.close();
  return text;
}
