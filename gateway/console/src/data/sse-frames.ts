// Server-sent events out of pieces of text.
// Source: the HTML standard, section 9.2.6, for streams of the console: `id` is kept per event, `retry` is not used.

export interface SseFrame {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** Cuts text into frames. A piece may end anywhere, also between CR and LF. */
export class SseFrames {
  /** The start of a line that has not ended yet, in pieces: joining it at each piece would take quadratic time. */
  #parts: string[] = [];
  #endedInCr = false;
  #event = "";
  #data: string[] = [];
  #id = "";

  /** Takes a piece; returns the frames that it completes. */
  push(piece: string): SseFrame[] {
    const frames: SseFrame[] = [];
    let text = piece;
    if (this.#endedInCr && text.startsWith("\n")) text = text.slice(1);
    if (piece) this.#endedInCr = piece.endsWith("\r");
    let start = 0;
    for (const end of text.matchAll(/\r\n|\r|\n/g)) {
      this.#parts.push(text.slice(start, end.index));
      start = end.index + end[0].length;
      const line = this.#parts.join("");
      this.#parts = [];
      this.#takeLine(line, frames);
    }
    if (start < text.length) this.#parts.push(text.slice(start));
    return frames;
  }

  #takeLine(line: string, frames: SseFrame[]): void {
    if (line === "") {
      if (this.#data.length)
        frames.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      this.#event = "";
      this.#data = [];
      this.#id = "";
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
  }
}
