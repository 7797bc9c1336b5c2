// One recorded stream, built line by line, from a file or while it runs.

import { Groups } from "./groups.js";
import { asCount, asNumber, asText, type Item, isObject, type Json, type Lane } from "./shapes.js";

export class Capture {
  /** The line `capture`. */
  readonly meta: Json;
  readonly items: Readonly<Record<Lane, Item[]>> = { read: [], event: [], write: [] };
  readonly groups = new Groups();
  readonly requests: Json[] = [];
  readonly attempts: Json[] = [];
  /** The HTTP status that the client got; undefined: it got none. */
  status: number | undefined;
  /** The line `end`; undefined: the stream runs, or the file broke off. */
  end: Json | undefined;
  /** Places of events before which others were left out. */
  readonly gaps = new Set<number>();
  /** How many lines were taken. */
  size = 0;
  #t = 0;
  readonly #readOf = new Map<number, number>();
  readonly #eventOf = new Map<number, number>();

  constructor(meta: Json) {
    this.meta = meta;
  }

  /** Whether it holds texts, and not only times and sizes. */
  get hasContent(): boolean {
    return this.meta.content !== "metadata";
  }

  /** The time of the last line, in milliseconds since the request came. */
  get duration(): number {
    return this.#t;
  }

  /** The place of the event with a sequence; -1: there is none. */
  placeOfSequence(sequence: number): number {
    return this.#eventOf.get(sequence) ?? -1;
  }

  /** Takes the next line. A kind that is not known is passed over. */
  add(line: Json): void {
    this.size++;
    this.#t = Math.max(this.#t, asNumber(line.t) ?? 0);
    switch (line.kind) {
      case "read":
        return this.#addItem("read", line, asCount(line.n) ?? this.items.read.length);
      case "event":
        return this.#addItem("event", line, sequenceOf(line) ?? this.items.event.length);
      case "write":
        return this.#addItem("write", line, asCount(line.n) ?? this.items.write.length);
      case "mark":
        return this.#addMark(line);
      case "request":
        this.requests.push(line);
        return;
      case "response":
        if (line.side === "client") this.status = asCount(line.status);
        return;
      case "attempt":
        this.attempts.push(line);
        return;
      case "end":
        this.end = line;
        return;
    }
  }

  #addItem(lane: Lane, line: Json, n: number): void {
    const items = this.items[lane];
    const index = items.length;
    const read = lane === "read" ? undefined : asCount(line.read);
    const readIndex = lane === "read" ? index : (this.#readOf.get(read ?? -1) ?? -1);
    const sequences = lane === "write" ? rangeOf(line.sequences) : undefined;
    const item: Item = { lane, index, t: this.#t, n, read, readIndex, sequences, line };
    items.push(item);
    if (lane === "read") this.#readOf.set(n, index);
    if (lane === "event") this.#eventOf.set(n, index);
    this.groups.add(item, sequences ? this.placeOfSequence(sequences[0]) : -1);
  }

  #addMark(line: Json): void {
    const what = asText(line.what);
    if (what === undefined) return;
    if (what === "left_out" && line.lane === "event") this.gaps.add(this.items.event.length);
    const readIndex = this.#readOf.get(asCount(line.read) ?? -1) ?? -1;
    const event = this.items.event[this.placeOfSequence(asCount(line.sequence) ?? -1)];
    const target = event ?? this.items.read[readIndex];
    this.groups.addMark({ what, t: this.#t, text: markText(line), readIndex, ms: asNumber(line.ms), target });
  }
}

/** Facts of a mark beside its word. */
function markText(line: Json): string {
  const parts = [asText(line.code), asText(line.text)];
  if (asCount(line.attempt) !== undefined && line.what !== "commit") parts.push(`attempt ${line.attempt}`);
  if (line.what === "left_out") parts.push(`${asCount(line.lines) ?? "?"} of the lane ${asText(line.lane) ?? "?"}`);
  return parts.filter(Boolean).join(" ");
}

function sequenceOf(line: Json): number | undefined {
  const { event } = line;
  return isObject(event) && isObject(event.metadata) ? asCount(event.metadata.sequence) : undefined;
}

function rangeOf(value: unknown): [number, number] | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, last] = [asCount(value[0]), asCount(value[1])];
  return first === undefined || last === undefined || last < first ? undefined : [first, last];
}
