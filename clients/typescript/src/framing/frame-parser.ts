import { type Frame, TooLarge } from "./frame.js";
import { LineSplitter } from "./line-splitter.js";
import { isOpening, mayBecomeField, SseBlocks } from "./sse-blocks.js";

export { type Frame, TooLarge };

/**
 * How a body is framed. `unknown` until its first character that is no blank; then `json` where that is a bracket
 * (one JSON value a line), `markup` where it is `<`, else `sse`. `document`: the first line is nothing but an
 * opening bracket, so that the whole body is one JSON value.
 */
type Mode = "unknown" | "sse" | "json" | "document" | "markup";

/** Cuts the bytes or the text of one body into frames, wherever the network has cut them. Does no I/O. */
export class FrameParser {
  #mode: Mode = "unknown";
  #decoder = new TextDecoder();
  #lines = new LineSplitter();
  #blocks: SseBlocks;
  #document: string[] = [];
  #size = 0;
  #isFirst = true;
  #cutField = false;

  constructor(private readonly limit: number) {
    this.#blocks = new SseBlocks(limit);
  }

  /** The body is HTML or XML: it can be no stream. */
  get isMarkup(): boolean {
    return this.#mode === "markup";
  }

  /** Something of what came is a stream's, whether or not an event could be read. */
  get recognised(): boolean {
    return this.#blocks.recognised || this.#cutField || (this.#mode !== "sse" && this.#mode !== "markup");
  }

  /**
   * Calls `take` with each frame that `chunk` completes; `take` returns false to stop.
   * Throws `TooLarge` where an event is larger than the limit, after all frames before it.
   */
  feed(chunk: Uint8Array | string, take: (frame: Frame) => boolean): void {
    let text =
      typeof chunk === "string" ? this.#decoder.decode() + chunk : this.#decoder.decode(chunk, { stream: true });
    if (this.#isFirst && text) {
      this.#isFirst = false;
      if (text.startsWith("\uFEFF")) text = text.slice(1);
    }
    if (this.#mode === "unknown") this.#findMode(text);
    if (this.#mode === "markup") return;
    let going = true;
    this.#lines.feed(text, (line) => {
      const frame = this.#line(line);
      if (frame) going = take(frame);
      return going;
    });
    if (going && this.#lines.pending + this.#blocks.pending > this.limit) throw new TooLarge();
  }

  /** The body has ended: returns what its last line or block is. Throws `TooLarge` like `feed`. */
  finish(): Frame | null {
    const line = this.#lines.rest() + this.#decoder.decode();
    if (this.#mode === "markup") return null;
    if (this.#mode === "unknown" || this.#mode === "sse") {
      this.#cutField = line !== "" && mayBecomeField(line);
      return this.#blocks.finish(line);
    }
    if (this.#mode === "json") return this.#jsonLine(line, true);
    this.#document.push(line);
    return { data: this.#document.join("\n"), event: null, id: null, unterminated: true };
  }

  #findMode(text: string): void {
    const first = /\S/.exec(text)?.[0];
    if (first) this.#mode = first === "{" || first === "[" ? "json" : first === "<" ? "markup" : "sse";
  }

  #line(line: string): Frame | null {
    if (this.#mode === "document") {
      this.#size += line.length + 1;
      if (this.#size > this.limit) throw new TooLarge();
      this.#document.push(line);
      return null;
    }
    return this.#mode === "json" ? this.#jsonLine(line, false) : this.#blocks.take(line);
  }

  #jsonLine(line: string, unterminated: boolean): Frame | null {
    if (line.length > this.limit) throw new TooLarge();
    if (this.#isOpening(line)) return null;
    const bare = line.trim();
    if (!bare || bare.startsWith(":")) return null;
    const data = bare.startsWith("data:") ? bare.slice(5).trim() : bare;
    return { data, event: null, id: null, unterminated };
  }

  /** The first line of a body of JSON may begin a value that is printed over several lines. */
  #isOpening(line: string): boolean {
    if (this.#document.length || !line.trim()) return false;
    const opens = isOpening(line.trim());
    this.#document = [line];
    if (opens) this.#mode = "document";
    return opens;
  }
}
