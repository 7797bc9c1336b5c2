import type { EventOf } from "../events/event-types.js";
import type { EventMetadata } from "../protocol.js";
import type { DataBlock, MessagePart, TextPart, ThinkingPart, ToolCall } from "./message-state.js";

/** The place of one part in the list; `part` is replaced when it changes, `text` grows and is put in when asked for. */
interface Place {
  part: MessagePart;
  /** Its number in the list. */
  at: number;
  text: string;
  /** When the last piece of text came. */
  touched: number | null;
}

/** The text parts of one message in one channel. */
interface TextMessage {
  places: Place[];
  isComplete: boolean;
}

type Without<T> = T extends unknown ? Omit<T, "id"> : never;

const keyOf = (...parts: (string | null | undefined)[]): string => JSON.stringify(parts.map((part) => part ?? null));

/** The fields that a part takes from the event that begins it. */
const originOf = (metadata: EventMetadata, time: number | null) => ({
  messageId: metadata.message_id ?? null,
  runId: metadata.run_id ?? null,
  nodeId: metadata.node_id ?? null,
  nodeName: metadata.node_name ?? null,
  startTime: time,
  endTime: null,
});

/**
 * The parts of a message, in the order in which they began.
 *
 * A text or thinking part is *open* while a piece may join it. It is closed by a part of another kind, by one of the
 * other of these two with the same ids, by `is_complete` of its message, by the end of a stream and by the start of
 * the next one. Closing sets `endTime`, so that a page sees that it does not grow any more.
 */
export class MessageParts {
  #places: Place[] = [];
  /** The parts of the places: copied as a whole for a snapshot, which costs least. */
  #parts: MessagePart[] = [];
  #open = new Map<string, Place>();
  #messages = new Map<string, TextMessage>();
  #statuses = new Map<string, Place>();
  #interactions = new Map<string, Place>();
  #calls: Place[] = [];
  #blocks: Place[] = [];
  #stale = new Set<Place>();
  #list: MessagePart[] | null = [];
  #count = 0;

  /** `prefix` makes the ids of the parts. */
  constructor(private readonly prefix: string) {}

  /** A list that never changes; unchanged parts are the same objects as in the last one. */
  snapshot(): MessagePart[] {
    for (const place of this.#stale) this.#change(place, { text: place.text } as Partial<TextPart | ThinkingPart>);
    this.#stale.clear();
    this.#list ??= this.#parts.slice();
    return this.#list;
  }

  addText(event: EventOf<"content">, time: number | null): void {
    const message = this.#messageOf(event);
    if (event.data.op === "replace") this.#replace(message, event, time);
    else if (event.data.content) this.#appendText(message, event, time);
    if (event.data.is_complete) this.#complete(message, event);
  }

  addThinking({ data, metadata }: EventOf<"thinking">, time: number | null): void {
    if (!data.content) return;
    const place = this.#joined("thinking", undefined, metadata, () =>
      this.#begin({ type: "thinking", text: "", stage: data.stage ?? null, ...originOf(metadata, time) }),
    );
    this.#append(place, data.content, time);
  }

  beginCall(call: ToolCall, metadata: EventMetadata, time: number | null): void {
    const origin = { ...originOf(metadata, time), endTime: call.end_time };
    this.#calls.push(this.#beginOther({ type: "tool", call, ...origin }));
  }

  /** The call at `index` of `toolCalls` has changed. */
  changeCall(index: number, call: ToolCall): void {
    this.#change(this.#calls[index] as Place, { call, endTime: call.end_time });
  }

  addStatus({ data, metadata }: EventOf<"status">, time: number | null): void {
    const key = keyOf(data.scope, data.name, metadata.node_id, metadata.run_id);
    const known = this.#statuses.get(key);
    const place = known ?? this.#beginOther({ type: "status", status: data, ...originOf(metadata, time) });
    const isOver = data.state === "finished" || data.state === "failed";
    if (isOver) this.#statuses.delete(key);
    else this.#statuses.set(key, place);
    if (known || isOver) this.#change(place, { status: data, ...(isOver && { endTime: time }) });
  }

  addInteraction({ data, metadata }: EventOf<"interaction">, time: number | null): void {
    let place = this.#interactions.get(data.interaction_id);
    place ??= this.#beginOther({ type: "interaction", interaction: data, ...originOf(metadata, time) });
    this.#interactions.set(data.interaction_id, place);
    this.#change(place, { interaction: data, endTime: data.state === "requested" ? null : time });
  }

  addReference({ data, metadata }: EventOf<"reference">, time: number | null): void {
    this.#beginOther({ type: "reference", reference: data, ...originOf(metadata, time), endTime: time });
  }

  addBlock(block: DataBlock, metadata: EventMetadata, time: number | null): void {
    this.#blocks.push(this.#beginOther({ type: "data", block, ...originOf(metadata, time), endTime: time }));
  }

  /** The block at `index` of `dataBlocks` has changed. */
  changeBlock(index: number, block: DataBlock, time: number | null): void {
    this.#change(this.#blocks[index] as Place, { block, endTime: time });
  }

  /** A stream begins: no piece of it joins a part of an earlier one. */
  beginStream(): void {
    this.endStream();
    for (const [key, message] of this.#messages) if (JSON.parse(key)[1] === null) message.isComplete = true;
  }

  endStream(): void {
    this.#closeWhere(() => true);
  }

  /** The message of a piece; without an id a complete one is followed by another. */
  #messageOf({ data, metadata }: EventOf<"content">): TextMessage {
    const key = keyOf(data.channel, metadata.message_id);
    const known = this.#messages.get(key);
    const isOver = known?.isComplete && metadata.message_id === undefined;
    if (known && !(isOver && data.content && data.op !== "replace")) return known;
    const message = { places: [], isComplete: false };
    this.#messages.set(key, message);
    return message;
  }

  #appendText(message: TextMessage, { data, metadata }: EventOf<"content">, time: number | null): void {
    const { channel, content, format } = data;
    const place = this.#joined("text", channel, metadata, () => {
      const own = { channel: channel ?? null, format: format ?? null, isComplete: false };
      const begun = this.#begin({ type: "text", text: "", ...own, ...originOf(metadata, time) });
      message.places.push(begun);
      return begun;
    });
    if (format && (place.part as TextPart).format === null) this.#change(place, { format });
    this.#append(place, content, time);
  }

  /** The open part that a piece joins. If there is none, one begins, and closes the other kind with the same ids. */
  #joined(type: string, channel: string | undefined, metadata: EventMetadata, begin: () => Place): Place {
    const ids = keyOf(metadata.message_id, metadata.run_id, metadata.node_name);
    const key = keyOf(type, channel) + ids;
    let place = this.#open.get(key);
    if (!place) {
      this.#closeWhere(({ part }, key) => part.type !== type && key.endsWith(ids));
      place = begin();
      this.#open.set(key, place);
    }
    return place;
  }

  /** The first part of the message gets the text; its others leave. */
  #replace(message: TextMessage, event: EventOf<"content">, time: number | null): void {
    const [first, ...others] = message.places;
    if (!first) {
      if (event.data.content) this.#appendText(message, event, time);
      return;
    }
    if (others.length) {
      const gone = new Set(others);
      message.places = [first];
      this.#places = this.#places.filter((place) => !gone.has(place));
      this.#parts = this.#places.map(({ part }) => part);
      for (const [at, place] of this.#places.entries()) place.at = at;
      for (const place of gone) this.#stale.delete(place);
      for (const [key, place] of this.#open) if (gone.has(place)) this.#open.delete(key);
      this.#list = null;
    }
    first.text = "";
    if (event.data.format) this.#change(first, { format: event.data.format });
    this.#append(first, event.data.content, time);
    if (![...this.#open.values()].includes(first)) this.#change(first, { endTime: first.touched });
  }

  /** The message is complete, and with the answer the reasoning before it. */
  #complete(message: TextMessage, { data, metadata }: EventOf<"content">): void {
    message.isComplete = true;
    const messageId = metadata.message_id ?? null;
    const isAnswer = data.channel === undefined;
    this.#closeWhere((place) =>
      place.part.type === "text" ? message.places.includes(place) : isAnswer && place.part.messageId === messageId,
    );
    for (const place of message.places) this.#change(place, { isComplete: true });
  }

  #begin(part: Without<MessagePart>): Place {
    const whole = { id: `${this.prefix}-${this.#count++}`, ...part } as MessagePart;
    const place: Place = { part: whole, at: this.#places.length, text: "", touched: part.startTime };
    this.#places.push(place);
    this.#parts.push(whole);
    this.#list = null;
    return place;
  }

  /** Begins a part that is no text: all open parts are closed. */
  #beginOther(part: Without<MessagePart>): Place {
    this.endStream();
    return this.#begin(part);
  }

  #append(place: Place, piece: string, time: number | null): void {
    place.text += piece;
    place.touched = time ?? place.touched;
    this.#stale.add(place);
    this.#list = null;
  }

  #change(place: Place, changes: Partial<MessagePart>): void {
    place.part = { ...place.part, ...changes } as MessagePart;
    this.#parts[place.at] = place.part;
    this.#list = null;
  }

  #closeWhere(isMeant: (place: Place, key: string) => boolean): void {
    for (const [key, place] of this.#open) {
      if (!isMeant(place, key)) continue;
      this.#open.delete(key);
      this.#change(place, { endTime: place.touched });
    }
  }
}
