/** Headers as they may be given: what `HeadersInit` is, which not every set of types has. */
export type HeadersLike =
  | { forEach(callback: (value: string, name: string) => void): void }
  | readonly (readonly [string, string])[]
  | Readonly<Record<string, string>>;

/** Headers, or what gives them for each request. */
export type HeadersSource = HeadersLike | (() => HeadersLike | Promise<HeadersLike>);

/** What of a request `fetch` is handed as it is: `credentials`, `mode`, `cache` ... */
export type FetchOptions = Omit<RequestInit, "body" | "headers" | "method" | "signal">;

/** `given` over `own`, of which null is left out. Names count without regard to case. */
export function mergedHeaders(own: Record<string, string | null>, given: HeadersLike = {}): Headers {
  const headers = new Headers(given as HeadersInit);
  for (const [name, value] of Object.entries(own)) if (value !== null && !headers.has(name)) headers.set(name, value);
  return headers;
}

/** The headers of this very request. */
export const resolved = async (source: HeadersSource | undefined): Promise<HeadersLike | undefined> =>
  typeof source === "function" ? await source() : source;

/** What goes out as a body, and its type where `fetch` does not know it. */
export function encodedBody(body: unknown): { body: RequestInit["body"] | undefined; type: string | null } {
  if (body === undefined || body === null) return { body: undefined, type: null };
  const isSentAsIs =
    typeof body === "string" ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    isA(body, "Blob") ||
    isA(body, "FormData") ||
    isA(body, "URLSearchParams");
  if (isSentAsIs) return { body: body as RequestInit["body"], type: null };
  return { body: JSON.stringify(body), type: "application/json" };
}

function isA(value: unknown, name: "Blob" | "FormData" | "URLSearchParams"): boolean {
  const known = (globalThis as Record<string, unknown>)[name];
  return typeof known === "function" && value instanceof known;
}

/** A random id: `randomUUID` is missing where a page is not served securely. */
export function randomId(prefix: string): string {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  globalThis.crypto?.getRandomValues?.(bytes);
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Where the run of an answer is read; null where it names none, or one of another origin. */
export function runUrlOf(response: Response, requestUrl: string): string | null {
  const location = response.headers.get("content-location");
  if (!location || !response.headers.get("x-streamweir-run")) return null;
  try {
    const base = response.url || new URL(requestUrl, globalThis.location?.href).href;
    const found = new URL(location, base);
    return found.origin === new URL(base).origin ? found.href : null;
  } catch {
    return null;
  }
}

/** Where a run is stopped. */
export function cancelUrlOf(runUrl: string): string {
  const url = new URL(runUrl, globalThis.location?.href);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/cancel`;
  url.search = url.hash = "";
  return url.href;
}

const MOST_CHARACTERS = 65_536;
const LONGEST = 2000;

/** The body of a refusal, for its cause: 64 KiB and two seconds at most. Never fails. */
export async function refusalText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(() => void reader?.cancel().catch(() => {}), LONGEST);
  try {
    if (!reader) return (await response.text()).slice(0, MOST_CHARACTERS);
    while (text.length < MOST_CHARACTERS) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // what has come is what there is
  } finally {
    clearTimeout(timer);
    void reader?.cancel().catch(() => {});
  }
  return text;
}
