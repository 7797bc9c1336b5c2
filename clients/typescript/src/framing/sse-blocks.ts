import { type Frame, TooLarge } from "./frame.js";

const FIELDS = ["data", "event", "id", "retry"];

/**
 * Makes frames of the lines of an event stream (WHATWG HTML, 9.2.6).
 *
 * Differences that are meant: the last block counts without its blank line; a block that has nothing but an event
 * name is a frame without data; lines behind an opening bracket that are no fields belong to its data.
 */
export class SseBlocks {
  /** A comment or a field has come: this is an event stream. */
  recognised = false;
  #data: string[] = [];
  #size = 0;
  #event: string | null = null;
  #id: string | null = null;

  constructor(private readonly limit: number) {}

  /** How many characters the event that has begun has. */
  get pending(): number {
    return this.#size;
  }

  /** Takes one line in; returns the frame that it completes. */
  take(line: string): Frame | null {
    if (line === "") return this.#data.length || this.#event !== null ? this.#dispatch(false) : null;
    this.#size += line.length + 1;
    if (this.#size > this.limit) throw new TooLarge();
    this.#field(line);
    return null;
  }

  /** The body has ended behind `line`, which may be half: returns what is left. */
  finish(line: string): Frame | null {
    if (line) this.take(line);
    return this.#data.length || this.#event !== null ? this.#dispatch(true) : null;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    if (name && !FIELDS.includes(name)) {
      if (isOpening(this.#data[0])) this.#data.push(line);
      return;
    }
    this.recognised = true;
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value || null;
    else if (name === "id" && !value.includes("\0")) this.#id = value || null;
    if (!name && !this.#data.length) this.#size = 0;
  }

  #dispatch(unterminated: boolean): Frame {
    const data = this.#data.length === 1 ? (this.#data[0] as string) : this.#data.join("\n");
    const frame = { data, event: this.#event, id: this.#id, unterminated };
    this.#data = [];
    this.#event = null;
    this.#size = 0;
    return frame;
  }
}

/** Whether a line is nothing but the brackets with which printed JSON begins. */
export const isOpening = (line: string | undefined): boolean => line !== undefined && /^[[{]\s*\{?\s*$/.test(line);

/** Whether half a line may have become a field of an event stream. */
export const mayBecomeField = (line: string): boolean => FIELDS.some((field) => `${field}:`.startsWith(line));
