import { cancelUrlOf, type HeadersLike, mergedHeaders, runUrlOf } from "../request/http.js";
import type { ResumeOptions } from "../request/pause.js";
import { runBody } from "./run-body.js";

/** Where the URLs of runs are kept: `sessionStorage` survives a reload. */
export interface RunStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

export interface RunFetchOptions {
  /** The protocol that is asked for: `X-Streamweir-Protocol`. */
  protocol?: string | undefined;
  /** Memory if absent. */
  storage?: RunStorage | undefined;
  /** Under which name a run is kept; null: not at all. Absent: by the conversation that a JSON body names. */
  key?: ((url: string, init: RequestInit | undefined) => string | null) | undefined;
  /** An aborted signal also stops the run; true if absent. */
  stopOnAbort?: boolean | undefined;
  resume?: boolean | ResumeOptions | undefined;
  /** Called in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** A `fetch` that follows runs: breaks are not seen, an abort stops the run, a reload can read it again. */
export interface RunFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The address of the kept run; null if no run is kept. */
  runUrl(key: string): string | null;
  /** A `fetch` whose first call reads the kept run from its start, with any arguments; 204 if no run is kept. */
  reader(key: string): typeof fetch;
  /** Stops the kept run. Never rejects. */
  stop(key: string): Promise<void>;
  /** Forgets the run, which is not stopped. */
  forget(key: string): void;
}

const NAME = "streamweir:";
const KEYS = ["id", "threadId", "thread_id", "conversation_id"];

/** The conversation that a JSON body names. */
function keyInBody(_url: string, init: RequestInit | undefined): string | null {
  if (typeof init?.body !== "string") return null;
  try {
    const body = JSON.parse(init.body) as Record<string, unknown> | null;
    const found = KEYS.map((name) => body?.[name]).find((value) => typeof value === "string" && value);
    return (found as string | undefined) ?? null;
  } catch {
    return null;
  }
}

/** A storage of this page's own. */
function memory(): RunStorage {
  const items = new Map<string, string>();
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
  };
}

/** Whether the page is being unloaded: its requests are then aborted, and that means nothing. */
const unloading = { is: false, isWatched: false };

function watchUnloading(): void {
  const { addEventListener } = globalThis as {
    addEventListener?: (type: string, listener: () => void, capture: boolean) => void;
  };
  if (unloading.isWatched || !addEventListener) return;
  unloading.isWatched = true;
  addEventListener("pagehide", () => void (unloading.is = true), true);
  addEventListener("pageshow", () => void (unloading.is = false), true);
}

export function createRunFetch(options: RunFetchOptions = {}): RunFetch {
  const { protocol, storage = memory(), key: keyOf = keyInBody, stopOnAbort = true, resume } = options;
  const send: typeof fetch = (...args) => (options.fetch ?? fetch)(...args);

  const stored = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch {
      return otherwise;
    }
  };
  const runUrl = (key: string) => stored(() => storage.getItem(NAME + key), null);
  const forget = (key: string) => stored(() => storage.removeItem(NAME + key), undefined);

  const headersOf = (given: HeadersLike | undefined, changes: Record<string, string | null> = {}): Headers => {
    const headers = mergedHeaders({ "x-streamweir-protocol": protocol ?? null }, given);
    for (const [name, value] of Object.entries(changes))
      value === null ? headers.delete(name) : headers.set(name, value);
    return headers;
  };

  const cancel = async (url: string, given: HeadersLike | undefined, credentials?: RequestCredentials) => {
    try {
      const headers = headersOf(given, { "content-type": null, accept: "application/json" });
      await send(cancelUrlOf(url), { method: "POST", headers, keepalive: true, ...(credentials && { credentials }) });
    } catch {
      // a run that is not read ends by itself
    }
  };

  /** The answer, followed where it is a stream that names its run. */
  const follow = (response: Response, url: string, key: string | null, init: RequestInit): Response => {
    const found = runUrlOf(response, url);
    const isStream = /^text\/event-stream/i.test(response.headers.get("content-type")?.trim() ?? "");
    if (!response.ok || !found || !isStream || !response.body) return response;
    watchUnloading();
    if (key !== null) stored(() => storage.setItem(NAME + key, found), undefined);
    const given = init.headers as HeadersLike | undefined;
    const over = () => {
      if (key !== null && runUrl(key) === found) forget(key);
    };
    const body = runBody({
      response,
      runUrl: found,
      resume,
      signal: init.signal ?? null,
      reopen: (lastEventId, signal) => {
        const headers = headersOf(given, { "content-type": null, "last-event-id": lastEventId });
        return send(found, { ...init, method: "GET", headers, body: null, signal });
      },
      onAbort: () => {
        if (!stopOnAbort || unloading.is) return;
        over();
        void cancel(found, given, init.credentials);
      },
      onOver: over,
    });
    const { status, statusText, headers } = response;
    const followed = new Response(body, { status, statusText, headers });
    Object.defineProperty(followed, "url", { value: response.url });
    return followed;
  };

  const runs = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = typeof input === "object" && "headers" in input ? input : null;
    const url = request ? request.url : String(input);
    const own = await ownInit(request, init);
    const key = stored(() => keyOf(url, own), null);
    const sent = { ...own, headers: headersOf(own.headers as HeadersLike | undefined) };
    return follow(await send(url, sent), url, key, sent);
  };

  const reader = (key: string): typeof fetch => {
    let isFirst = true;
    return async (input, init) => {
      if (!isFirst) return runs(input as string | URL | Request, init);
      isFirst = false;
      const url = runUrl(key);
      if (!url) return new Response(null, { status: 204 });
      const headers = headersOf(init?.headers as HeadersLike | undefined, { "content-type": null });
      const sent = { ...init, method: "GET", headers, body: null };
      const response = await send(url, sent);
      const isGone = [204, 404, 410].includes(response.status);
      if (!isGone) return follow(response, url, key, sent);
      forget(key);
      await response.body?.cancel();
      return new Response(null, { status: 204 });
    };
  };

  const stop = async (key: string) => {
    const url = runUrl(key);
    if (!url) return;
    forget(key);
    await cancel(url, undefined);
  };

  return Object.assign(runs, { runUrl, reader, stop, forget });
}

/** The options of a `Request`, under those of `init`. */
async function ownInit(request: Request | null, init: RequestInit = {}): Promise<RequestInit> {
  if (!request) return init;
  const { method, headers, signal, credentials } = request;
  const body = method === "GET" || method === "HEAD" ? null : await request.clone().text();
  return { method, headers, signal, credentials, body, ...init };
}
