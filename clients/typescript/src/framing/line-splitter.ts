/**
 * Cuts text into lines, wherever the network has cut it. A line ends at LF, CR or CRLF; a CRLF that arrives in
 * two pieces is one line end. The time is linear in the text: what has been looked at is not looked at again.
 */
export class LineSplitter {
  /** Pieces of the line that has begun, and how long they are together. */
  #pieces: string[] = [];
  #length = 0;
  /** The last piece ended with CR, so that a LF at the start of the next one belongs to it. */
  #afterCr = false;

  /** How many characters the line that has begun has. */
  get pending(): number {
    return this.#length;
  }

  /** Calls `take` with each line that `text` completes; `take` returns false to stop. */
  feed(text: string, take: (line: string) => boolean): void {
    let start = 0;
    if (this.#afterCr && text) {
      this.#afterCr = false;
      if (text[0] === "\n") start = 1;
    }
    let lf = text.indexOf("\n", start);
    let cr = text.indexOf("\r", start);
    while (lf >= 0 || cr >= 0) {
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      if (!take(this.#joined(text.slice(start, end)))) return;
      start = end + 1;
      if (end === cr) {
        if (start === text.length) this.#afterCr = true;
        else if (start === lf) start += 1;
        cr = text.indexOf("\r", start);
      }
      if (lf >= 0 && lf < start) lf = text.indexOf("\n", start);
    }
    if (start < text.length) {
      this.#pieces.push(text.slice(start));
      this.#length += text.length - start;
    }
  }

  /** The line that has no end, and forgets it. */
  rest(): string {
    return this.#joined("");
  }

  #joined(end: string): string {
    if (!this.#length) return end;
    const line = this.#pieces.join("") + end;
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
}
