// Where the view has its stream from: the console, while it runs or after its end, or a file.

import type { Capture } from "../../capture/capture.js";
import { CaptureLines, NotACapture, readCaptures } from "../../capture/capture-reader.js";
import { api, explain } from "../../data/api.js";
import { Changes } from "../../data/changes.js";
import { feed, type LineReader } from "../../data/feed.js";
import { type Attempt, isRunning, type Row, type StreamDetails } from "../../data/rows.js";

/** The id in the address of a capture that was opened from a file. */
export const FILE = "file";

/** A file that another view was given, for the view that shows it. */
let waiting: File | undefined;

export function leaveFile(file: File): void {
  waiting = file;
}

/** Milliseconds between two drawings of a stream that grows. */
const DRAW_MS = 100;
const LINES_PER_MS = 200;
/** The same while a file is read, of which each drawing is one of many items more. */
const READING_DRAW_MS = 1500;

/**
 * | of | captures come from | `progress` |
 * |---|---|---|
 * | a row that has ended | the API, once | set while they are read |
 * | a row that runs | the feed, line by line; all again after a reconnection | empty |
 * | a file | the file, once | set while they are read |
 */
export class StreamSource extends Changes {
  /** Undefined for a capture from a file. */
  row: Row | undefined;
  attempts: readonly Attempt[] = [];
  captures: readonly Capture[] = [];
  /** Sentences about what is missing in a capture. */
  notes: readonly string[] = [];
  problem = "";
  progress = "";
  fileName = "";
  #work = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #endWatching: (() => void) | undefined;

  /** Shows the stream of a row. */
  open(id: string): void {
    this.#begin();
    if (id === FILE) {
      const file = waiting;
      waiting = undefined;
      if (file) void this.#read(file, file.name);
      else this.#fail("A capture from a file is gone when the page is loaded anew. Open the file again.");
      return;
    }
    this.row = feed.rows.get(id);
    void this.#load(id);
    this.#endWatching = feed.rows.subscribe(() => this.#takeRow(feed.rows.get(id)));
  }

  close(): void {
    this.#work.abort();
    this.#endWatching?.();
    clearTimeout(this.#timer);
    feed.follow(undefined);
  }

  /** Draws again, soon. */
  touch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.notify();
    }, this.#pause());
  }

  /** A drawing takes time with the number of lines: a large stream is drawn less often. */
  #pause(): number {
    const lines = this.captures.at(-1)?.size ?? 0;
    return (this.progress ? READING_DRAW_MS : DRAW_MS) + lines / LINES_PER_MS;
  }

  #begin(): void {
    this.close();
    this.#work = new AbortController();
    this.#timer = undefined;
    this.row = undefined;
    this.attempts = [];
    this.captures = [];
    this.notes = [];
    this.problem = this.progress = this.fileName = "";
    this.touch();
  }

  async #load(id: string): Promise<void> {
    const { signal } = this.#work;
    try {
      const details = await this.#loadDetails(id);
      if (details.capture === "none") this.#fail("The bytes of this stream are not kept, or no longer.");
      else if (isRunning(details)) feed.follow(this.#follower(id));
      else await this.#read(await (await api.capture(id, signal)).blob(), "");
    } catch (error) {
      if (!signal.aborted) this.#fail(explain(error));
    }
  }

  async #loadDetails(id: string): Promise<StreamDetails> {
    const details = await api.stream(id, this.#work.signal);
    this.attempts = details.attempts;
    this.#takeRow({ ...details, attempts: details.attempts.length });
    return details;
  }

  #takeRow(row: Row | undefined): void {
    if (!row || (this.row && this.row.seq > row.seq)) return;
    const hasEnded = this.row !== undefined && isRunning(this.row) && !isRunning(row);
    this.row = row;
    this.touch();
    if (hasEnded) this.#loadDetails(row.id).catch(() => undefined);
  }

  #follower(id: string): LineReader {
    let lines = new CaptureLines();
    return {
      id,
      restart: () => {
        lines = new CaptureLines();
      },
      line: (text) => {
        try {
          lines.add(text);
        } catch (error) {
          this.#fail(explain(error));
        }
        this.captures = lines.captures;
        this.notes = lines.notes;
        this.touch();
      },
    };
  }

  async #read(source: Blob, name: string): Promise<void> {
    const { signal } = this.#work;
    this.fileName = name;
    this.progress = "Reading …";
    try {
      const lines = await readCaptures(source, (found, characters) => this.#takeLines(found, characters), signal);
      this.progress = "";
      this.#takeLines(lines);
      this.notify();
    } catch (error) {
      if (signal.aborted) return;
      this.captures = [];
      this.#fail(error instanceof NotACapture ? error.message : `The capture cannot be read: ${explain(error)}`);
    }
  }

  #takeLines(found: CaptureLines, characters?: number): void {
    this.captures = found.captures;
    this.notes = found.notes;
    if (characters !== undefined) this.progress = `Reading … ${Math.round(characters / (1 << 20))} MiB`;
    this.touch();
  }

  #fail(problem: string): void {
    this.problem = problem;
    this.progress = "";
    this.touch();
  }
}
