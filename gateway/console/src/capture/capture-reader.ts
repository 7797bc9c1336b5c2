// Capture files, read in pieces so that the page stays usable. Any bytes may come.

import { Capture } from "./capture.js";
import { LineSplitter, LineTooLong } from "./line-splitter.js";
import { isObject, type Json } from "./shapes.js";

export const MOST_BYTES = 256 << 20;
export const MOST_LINES = 500_000;
/** The most captures of a file: the user chooses one from a list. */
export const MOST_CAPTURES = 1000;
/** Levels of objects and lists in a line. What draws an event goes through them one by one, in recursion. */
export const MOST_LEVELS = 200;
const VERSION = 1;
const MOST_NOTES = 8;
/** Milliseconds of work at a time. */
const SLICE_MS = 12;

/** The file is no capture that can be shown: the message says why. */
export class NotACapture extends Error {}

/** Reads lines into captures. A file may hold several. */
export class CaptureLines {
  readonly captures: Capture[] = [];
  /** Sentences for the user about lines that were passed over. */
  readonly notes: string[] = [];
  #line = 0;
  #broken = 0;

  /** Takes a line. Throws `NotACapture` if the file cannot be one. */
  add(text: string): void {
    this.#line++;
    if (text.trim() === "") return;
    const line = parsed(text);
    if (line === undefined) {
      if (this.captures.length === 0) throw new NotACapture(NO_CAPTURE);
      this.#note(`Line ${this.#line} is not a JSON object. It is passed over.`);
      return;
    }
    if (text.length > 2 * MOST_LEVELS && isDeep(line, MOST_LEVELS)) {
      this.#note(`Line ${this.#line} is nested too deep. It is passed over.`);
      return;
    }
    if (line.kind === "capture") this.#begin(line);
    else if (this.captures.length === 0) throw new NotACapture(NO_CAPTURE);
    else this.captures.at(-1)?.add(line);
  }

  /** Takes what follows the last line end. */
  addRest(text: string): void {
    if (text.trim() === "") return;
    if (parsed(text) !== undefined) this.add(text);
    else if (this.captures.length === 0) throw new NotACapture(NO_CAPTURE);
    else this.#note("The file breaks off in its last line, which is passed over.");
  }

  /** Whether there are as many lines or captures as the page can show. */
  get isFull(): boolean {
    return this.#line >= MOST_LINES || this.captures.length >= MOST_CAPTURES;
  }

  #begin(line: Json): void {
    const { version } = line;
    if (typeof version === "number" && version > VERSION) {
      throw new NotACapture(
        `This capture was made by a newer streamweir: version ${version}, where this page knows ${VERSION}.`,
      );
    }
    if (version !== VERSION) throw new NotACapture(NO_CAPTURE);
    this.captures.push(new Capture(line));
  }

  #note(sentence: string): void {
    this.#broken++;
    if (this.#broken < MOST_NOTES) this.notes.push(sentence);
    else this.notes[MOST_NOTES - 1] = `${this.#broken - MOST_NOTES + 1} more such lines.`;
  }
}

const NO_CAPTURE =
  'This is not a capture file: its first line has to be an object with `"kind": "capture"` and `"version": 1`.';

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a value has more than so many levels of objects and lists. */
function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}

/**
 * Reads a capture file, also a gzipped one.
 *
 * @param onProgress called between slices of work, with the number of characters read.
 * @throws {NotACapture} it is none.
 */
export async function readCaptures(
  source: Blob,
  onProgress: (lines: CaptureLines, characters: number) => void,
  signal: AbortSignal,
): Promise<CaptureLines> {
  if (source.size === 0) throw new NotACapture("The file is empty.");
  const head = new Uint8Array(await source.slice(0, 2).arrayBuffer());
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  const plain = isGzip ? source.stream().pipeThrough(new DecompressionStream("gzip")) : source.stream();
  const reader = plain.pipeThrough(new TextDecoderStream()).getReader();
  try {
    return await readLines(reader, onProgress, signal);
  } catch (error) {
    if (error instanceof LineTooLong) throw new NotACapture(`${NO_CAPTURE} A line of it is endless.`);
    const isOurs = error instanceof NotACapture || signal.aborted;
    if (isGzip && !isOurs) throw new NotACapture("The file is gzipped, and broken.");
    throw error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function readLines(
  reader: ReadableStreamDefaultReader<string>,
  onProgress: (lines: CaptureLines, characters: number) => void,
  signal: AbortSignal,
): Promise<CaptureLines> {
  const found = new CaptureLines();
  const splitter = new LineSplitter();
  let characters = 0;
  let until = performance.now() + SLICE_MS;
  const rest = async (): Promise<void> => {
    onProgress(found, characters);
    await turn();
    signal.throwIfAborted();
    until = performance.now() + SLICE_MS;
  };
  for (;;) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) break;
    characters += value.length;
    for (const line of splitter.push(value)) {
      found.add(line);
      if (found.isFull) break;
      if (performance.now() >= until) await rest();
    }
    if (performance.now() >= until) await rest(); // also within a line that has no end
    if (characters > MOST_BYTES || found.isFull) {
      found.notes.unshift("The file is too large for the page: only its first part is shown.");
      return found;
    }
  }
  found.addRest(splitter.rest());
  if (found.captures.length === 0) throw new NotACapture("The file holds no line.");
  return found;
}

/** Lets the page draw and take keys. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
