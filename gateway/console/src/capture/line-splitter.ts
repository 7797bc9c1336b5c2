// Lines out of pieces of text.

/** A line that is longer than this is no line of a capture: an event has at most 8 MiB. */
export const LONGEST_LINE = 48 << 20;

export class LineTooLong extends Error {}

/** Cuts text at LF. The half line at the end is kept for the next piece. */
export class LineSplitter {
  /** In pieces: joining them at each piece would take quadratic time. */
  #parts: string[] = [];
  #size = 0;

  /**
   * Takes a piece; returns the lines that it completes.
   *
   * @throws {LineTooLong} a line is longer than `LONGEST_LINE`.
   */
  push(piece: string): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
      this.#keep(piece.slice(start, end));
      lines.push(this.rest());
      start = end + 1;
    }
    if (start < piece.length) this.#keep(start ? piece.slice(start) : piece);
    return lines;
  }

  /** Returns the half line, and forgets it. */
  rest(): string {
    const line = this.#parts.length === 1 ? (this.#parts[0] ?? "") : this.#parts.join("");
    this.#parts = [];
    this.#size = 0;
    return line;
  }

  #keep(part: string): void {
    this.#size += part.length;
    if (this.#size > LONGEST_LINE) throw new LineTooLong();
    this.#parts.push(part);
  }
}
