// The feed: one connection for the whole page, which comes back by itself.

import { ApiError, api, explain, request } from "./api.js";
import { Changes } from "./changes.js";
import { PlotHistory } from "./plot-history.js";
import { RowBook } from "./row-book.js";
import type { Info, Plots, Row } from "./rows.js";
import { session } from "./session.js";
import { type SseFrame, SseFrames } from "./sse-frames.js";

/** A ping comes every 10 seconds: a connection that is silent for longer than this is dead. */
const SILENCE_MS = 25_000;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8_000;
const PAGE = "2000";

export type FeedState = "live" | "paused" | "reconnecting";

/** A reader of the lines of one stream's capture. */
export interface LineReader {
  /** The row's id. */
  readonly id: string;
  /** The connection is new: all lines come again from the first one. */
  restart(): void;
  line(text: string): void;
}

/** Returns how long to wait before an attempt: longer each time, with jitter, so that pages do not return together. */
export function waitBefore(attempt: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt, 20));
  return longest / 2 + (random() * longest) / 2;
}

/**
 * | state | meaning | left when |
 * |---|---|---|
 * | reconnecting | no connection, `problem` says why; another attempt follows by itself | the first bytes are there: live |
 * | live | rows, plots and lines arrive | the connection ends: reconnecting; `pause()`: paused |
 * | paused | no connection, on the user's wish | `resume()`: reconnecting; the changes in between arrive then |
 *
 * Without a token it is reconnecting and waits for one.
 */
export class Feed extends Changes {
  readonly rows = new RowBook();
  readonly plots = new PlotHistory();
  info: Info | undefined;
  state: FeedState = "reconnecting";
  problem = "";
  /** The console's clock minus this machine's, in milliseconds, where they differ by more than a second or two. */
  clockOffset = 0;
  #reader: LineReader | undefined;
  #connection: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;

  start(): void {
    session.subscribe(() => this.#reconnectAtOnce());
    addEventListener("online", () => this.#reconnectAtOnce());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.state === "reconnecting" && this.#timer !== undefined) this.#reconnectAtOnce();
    });
    this.#reconnectAtOnce();
  }

  pause(): void {
    this.#leave();
    this.#change("paused");
  }

  resume(): void {
    if (this.state === "paused") this.#reconnectAtOnce(true);
  }

  /** Follows the lines of one stream in place of those of another one. Undefined: of no stream. */
  follow(reader: LineReader | undefined): void {
    if (reader === this.#reader) return;
    this.#reader = reader;
    this.#reconnectAtOnce(reader !== undefined);
  }

  #reconnectAtOnce(evenIfPaused = false): void {
    if (this.state === "paused" && !evenIfPaused) return;
    this.#leave();
    this.#attempt = 0;
    if (this.state === "paused") this.#change("reconnecting");
    if (session.token === null) this.#change("reconnecting");
    else void this.#run();
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#connection?.abort();
    this.#connection = undefined;
  }

  async #run(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    let problem = "The connection to the gateway has ended.";
    try {
      await this.#read(connection);
    } catch (error) {
      problem = explain(error);
      if (error instanceof ApiError && error.code === "ENDPOINT_NOT_FOUND") this.#reader = undefined;
    }
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#change("reconnecting", session.token === null ? "" : problem);
    if (session.token === null) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#run();
      },
      waitBefore(this.#attempt++),
    );
  }

  async #read(connection: AbortController): Promise<void> {
    let watch = setTimeout(() => connection.abort(), SILENCE_MS);
    try {
      await this.#load(connection.signal);
      const query = new URLSearchParams({ since: String(this.rows.seq) });
      const reader = this.#reader;
      if (reader) query.set("stream", reader.id);
      const response = await request(`feed?${query}`, { signal: connection.signal });
      reader?.restart();
      const frames = new SseFrames();
      const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const piece = await pieces?.read();
        if (piece === undefined || piece.done || this.#connection !== connection) return;
        clearTimeout(watch);
        watch = setTimeout(() => connection.abort(), SILENCE_MS);
        if (this.state !== "live") this.#change("live");
        this.#attempt = 0;
        this.#take(frames.push(piece.value), reader);
      }
    } finally {
      clearTimeout(watch);
    }
  }

  /** Loads the rows the first time, and again if the gateway has started anew since. */
  async #load(signal: AbortSignal): Promise<void> {
    const sent = Date.now();
    const response = await request("info", { signal });
    const info = (await response.json()) as Info;
    this.#noteClock(response.headers.get("date"), sent);
    if (this.info?.started !== info.started) this.rows.clear();
    this.#takeInfo(info);
    this.plots.replace(await api.plots("", signal));
    if (this.rows.isLoaded) return;
    for (let before = ""; ; ) {
      const page = await api.streams({ limit: PAGE, ...(before && { before }) }, signal);
      this.rows.put(page.streams);
      before = page.streams.at(-1)?.id ?? "";
      if (page.streams.length < Number(PAGE)) break;
    }
    this.rows.isLoaded = true;
    this.rows.touch();
  }

  #noteClock(date: string | null, sent: number): void {
    const offset = date ? Date.parse(date) - (sent + Date.now()) / 2 : 0;
    this.clockOffset = Math.abs(offset) > 2_000 ? offset : 0;
  }

  #take(frames: readonly SseFrame[], reader: LineReader | undefined): void {
    const rows: Row[] = [];
    for (const { event, data } of frames) {
      if (event === "line") reader?.line(data);
      else if (event === "row") rows.push(JSON.parse(data) as Row);
      else if (event === "plots") this.plots.add(JSON.parse(data) as Plots);
      else if (event === "info") this.#takeInfo(JSON.parse(data) as Info);
    }
    if (rows.length) this.rows.put(rows);
  }

  #takeInfo(info: Info): void {
    this.info = info;
    this.rows.maxEnded = info.keep.streams;
    this.notify();
  }

  #change(state: FeedState, problem = ""): void {
    this.state = state;
    this.problem = problem;
    this.notify();
  }
}

export const feed = new Feed();
