const LF = 10;
const CR = 13;

/** One whole block of an event stream byte for byte, with the fields that resuming needs. */
export interface Block {
  bytes: Uint8Array;
  id: string | null;
  /** Its data; empty for comments. */
  data: string;
}

/** Cuts the bytes of an event stream behind blank lines; a block that has begun is kept back. */
export class BlockCutter {
  #pieces: Uint8Array[] = [];
  /** The line that has begun is empty so far. */
  #isLineStart = true;
  #afterCr = false;
  /** A blank line has come; a LF that belongs to it may follow. */
  #isWhole = false;

  /** The blocks that `chunk` completes. */
  feed(chunk: Uint8Array): Block[] {
    const blocks: Block[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const isRestOfCrLf = byte === LF && this.#afterCr;
      if (this.#isWhole && !isRestOfCrLf) {
        blocks.push(this.#cut(chunk.subarray(start, at)));
        start = at;
      }
      this.#afterCr = byte === CR;
      if (isRestOfCrLf) continue;
      if (byte !== LF && byte !== CR) this.#isLineStart = false;
      else if (this.#isLineStart) this.#isWhole = true;
      else this.#isLineStart = true;
    }
    const isSure = this.#isWhole && !this.#afterCr;
    if (isSure) blocks.push(this.#cut(chunk.subarray(start)));
    else if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
    return blocks;
  }

  /** The body has ended: the block that lacks only its blank line; null if there is no such block. */
  finish(): Block | null {
    const block = this.#cut(new Uint8Array());
    return block.data ? block : null;
  }

  #cut(end: Uint8Array): Block {
    const bytes = joined([...this.#pieces, end]);
    this.#pieces = [];
    this.#isLineStart = true;
    this.#isWhole = false;
    return readBlock(bytes);
  }
}

function joined(pieces: Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function readBlock(bytes: Uint8Array): Block {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of new TextDecoder().decode(bytes).split(/\r\n|\n|\r/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id") id = value ?? null;
    else if (name === "data") data.push(value ?? "");
  }
  return { bytes, id, data: data.join("\n") };
}

const TERMINAL =
  /^(RUN_FINISHED|RUN_ERROR|finish|abort|message_stop|response\.(completed|failed|incomplete)|session_end|done)$/;

/** Whether a block ends its stream, in whichever protocol: a mark, or the type of its JSON. */
export function isTerminal(data: string): boolean {
  if (data.trim() === "[DONE]") return true;
  if (!/RUN_|finish|abort|_stop|response\.|session_end|done/.test(data)) return false; // most blocks need no parsing
  try {
    return TERMINAL.test((JSON.parse(data) as { type?: string } | null)?.type ?? "");
  } catch {
    return false;
  }
}
