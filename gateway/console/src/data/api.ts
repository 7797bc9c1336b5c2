// The console's API over fetch, with the token of the session.

import type { Configuration, Losses } from "./config.js";
import type { Info, Plots, RowPage, StreamDetails } from "./rows.js";
import { session } from "./session.js";

/** A request that the console refused, or that did not reach it. */
export class ApiError extends Error {
  /** `UNREACHABLE` where there was no answer. */
  readonly code: string;
  /** Of the answer; 0 where there was none. */
  readonly status: number;

  constructor(code: string, status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
  }
}

/** Returns a sentence for the user on any failure of a request. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Sends a request to `/api/v1/<path>`. A 401 and a 429 of the console take the token from the session, so that the
 * page asks for it.
 *
 * @throws {ApiError} the console refuses it or cannot be reached.
 */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const token = session.token;
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${token ?? ""}`);
  const response = await reach(`/api/v1/${path}`, { ...init, headers, cache: "no-store", credentials: "omit" });
  const isOwn = response.headers.get("x-streamweir-answered") === null;
  if (response.ok || !isOwn) return response;
  const error = await refusalOf(response);
  if (error.status === 401 || error.status === 429) session.refuse(token, error.message);
  throw error;
}

/** Asks for JSON. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {});
  return (await response.json()) as T;
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("UNREACHABLE", 0, "The gateway does not answer.");
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => null);
  const code = String(body?.error?.code ?? `HTTP_${response.status}`);
  if (response.status === 401) {
    return new ApiError(
      code,
      401,
      "The console does not take this token. The gateway prints the right one at its start.",
    );
  }
  if (response.status === 429) {
    const seconds = Number(response.headers.get("retry-after")) || 60;
    return new ApiError(
      code,
      429,
      `Too many wrong tokens: try again in ${seconds} seconds. The right one is taken at once.`,
    );
  }
  return new ApiError(
    code,
    response.status,
    String(body?.error?.message ?? `The console answers with ${response.status}.`),
  );
}

export const api = {
  info: (signal?: AbortSignal) => get<Info>("info", signal),
  plots: (endpoint = "", signal?: AbortSignal) =>
    get<Plots>(`plots${endpoint && `?endpoint=${encodeURIComponent(endpoint)}`}`, signal),
  config: (signal?: AbortSignal) => get<Configuration>("config", signal),
  dialects: (signal?: AbortSignal) => get<Losses>("dialects", signal),
  streams: (query: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    get<RowPage>(`streams?${new URLSearchParams(query)}`, signal),
  stream: (id: string, signal?: AbortSignal) => get<StreamDetails>(`streams/${encodeURIComponent(id)}`, signal),
  capture: (id: string, signal?: AbortSignal) =>
    request(`streams/${encodeURIComponent(id)}/capture`, signal ? { signal } : {}),
};
