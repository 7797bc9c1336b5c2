import { createFrameParser, type Frame, type FrameParser, TOO_LARGE } from "../framing/frame-parser.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";
import { type Failure, failureOf, rowOf } from "./codes.js";
import { type Envelope, failureOfEnvelope, isEnvelope } from "./envelope.js";
import type { DataOf, EventOf } from "./event-types.js";
import { readEvent } from "./read-event.js";

/** Reads one message of an old vocabulary: see `streamweir/legacy`. `close` says what the end of the body means. */
export interface Normalizer {
  (message: unknown, eventName?: string | undefined): StreamEvent[];
  close?(): StreamEvent[];
}

/** How a body is to be read. */
export interface EventReaderOptions {
  /** For events that the reader makes itself, until an event of the stream names another. */
  requestId?: string | null | undefined;
  /** What was asked for. The first bytes decide. */
  framing?: "sse" | "ndjson" | undefined;
  /** Reads messages that are no standard events. */
  normalize?: Normalizer | undefined;
  /** The most characters that one event may have; 8 Mi if absent. */
  maxEventSize?: number | undefined;
}

/** How a stream failed that did not fail by itself: it was refused, is none, or broke off. */
export interface OwnFailure {
  kind: "request_rejected" | "stream_failed" | "stream_truncated";
  failure: Failure;
}

const MAX_EVENT_SIZE = 8 * 1024 * 1024;
const MAX_REPORTED = 10;
const MAX_MALFORMED = 100;

/**
 * Bytes in, events out: no I/O, no clock that runs, and no exception whatever comes in.
 *
 * | state    | set by                                         | what follows                            |
 * |----------|------------------------------------------------|-----------------------------------------|
 * | waiting  | construction                                   | a refusal may come in place of a stream |
 * | started  | the first event                                | events                                  |
 * | failed   | a terminal `error`                             | nothing but `session_end`               |
 * | ended    | `session_end`, `fail`, a limit, `close`        | nothing                                 |
 *
 * A body that breaks off may be followed by another one of the same stream (`continueWith`): then the state stays,
 * and events whose sequence has come are left out.
 */
export class EventReader {
  /** The stream is over: nothing more is returned. */
  ended = false;
  /** The request id that the stream named last, else the one that was given. */
  requestId: string | null;
  /** The id (SSE) of the last event that was read whole. */
  lastEventId: string | null = null;
  /** @internal The sequence of the last event. */
  sequence = -1;
  /** @internal An event has come. */
  started = false;
  /** @internal A terminal error has come. */
  failed = false;
  /** @internal Why the reader itself has ended the stream. */
  ownFailure: OwnFailure | null = null;

  readonly #limit: number;
  readonly #normalize: Normalizer | undefined;
  #parser!: FrameParser;
  #malformed = 0;
  #hasData = false;
  #isContinued = false;
  #lastError: EventOf<"error"> | null = null;
  #out: StreamEvent[] = [];

  constructor({ requestId, maxEventSize, normalize }: EventReaderOptions = {}) {
    this.requestId = requestId ?? null;
    this.#limit = maxEventSize ?? MAX_EVENT_SIZE;
    this.#normalize = normalize;
    this.continueWith();
    this.#isContinued = false;
  }

  /** The events that `chunk` completes. */
  feed(chunk: Uint8Array | string): StreamEvent[] {
    return this.#read(() => {
      this.#hasData ||= typeof chunk === "string" ? /\S/.test(chunk) : chunk.some((byte) => byte > 32);
      this.#parser.feed(chunk);
      if (this.#parser.isMarkup()) this.#fail(failureOf("UPSTREAM_INVALID_RESPONSE"), "stream_failed");
    });
  }

  /** The body has ended: what is left, with an `error` and a `session_end` where the stream's own end is missing. */
  close(): StreamEvent[] {
    const events = this.flush();
    const { failure, kind } = this.missing;
    return [...events, ...this.#read(() => this.#fail(failure, kind))];
  }

  /** @internal The body has ended, and perhaps another one follows: what its last, unterminated event is. */
  flush(): StreamEvent[] {
    return this.#read(() => {
      this.#parser.finish();
      if (!this.ended) this.#normalized(() => this.#normalize?.close?.() ?? []);
    });
  }

  /** @internal Ends the stream with a failure that the connection tells of. */
  fail(failure: Failure): StreamEvent[] {
    return this.#read(() => this.#fail(failure, null));
  }

  /** @internal The failure of a body that has ended without the stream's end. */
  get missing(): OwnFailure {
    const isForeign = this.#hasData && !this.started && (this.#malformed > 0 || !this.#parser.isRecognised());
    return isForeign
      ? { failure: failureOf("UPSTREAM_INVALID_RESPONSE"), kind: "stream_failed" }
      : { failure: failureOf("UPSTREAM_TRUNCATED"), kind: "stream_truncated" };
  }

  /** @internal Another body of the same stream begins. */
  continueWith(): void {
    this.#parser = createFrameParser(this.#limit, (frame) => this.#frame(frame));
    this.#isContinued = true;
  }

  /** What `work` gives, unless the stream is over already. */
  #read(work: () => void): StreamEvent[] {
    try {
      if (!this.ended) work();
    } catch (error) {
      if (error !== TOO_LARGE) throw error;
      this.#fail(failureOf("STREAM_LIMIT_EXCEEDED"), "stream_failed");
    }
    const events = this.#out;
    this.#out = [];
    return events;
  }

  /** Takes a frame in; returns whether more is to be read. */
  #frame({ data, event, id, unterminated }: Frame): boolean {
    const hasMessage = data !== "[DONE]" && (data || (this.#normalize && event));
    if (!hasMessage) return true;
    let message: unknown = {};
    try {
      if (data) message = JSON.parse(data);
    } catch {
      if (unterminated && /^[[{]/.test(data)) return true; // half an event: the body broke off
      if (!this.#normalize || !event || /^\s*[[{"]/.test(data)) return this.#noteMalformed();
      message = data;
    }
    this.lastEventId = id ?? this.lastEventId;
    if (!this.started && isEnvelope(message)) this.#reject(message);
    else if (this.#normalize) this.#normalized(() => this.#normalize?.(message, event ?? undefined) ?? []);
    else {
      const read = readEvent(message);
      if (!read) return this.#noteMalformed();
      this.#begin(read);
    }
    return !this.ended;
  }

  #normalized(normalize: () => StreamEvent[]): void {
    let events: StreamEvent[] = [];
    try {
      events = normalize();
    } catch {
      this.#noteMalformed();
    }
    for (const event of events) {
      const sequence = this.sequence + 1;
      const metadata = { ...this.#stamp(), ...event.metadata, sequence };
      if (!this.ended) this.#begin({ ...event, metadata } as StreamEvent);
    }
  }

  /** Takes an event in, with the warnings of what could not be read before the first one. */
  #begin(event: StreamEvent): void {
    const waiting = this.started ? 0 : Math.min(this.#malformed, MAX_REPORTED);
    this.started = true;
    const isEnd = event.type === "session_end";
    if (!isEnd) this.#take(event);
    for (let count = waiting; count > 0; count--) this.#warn("A part");
    if (isEnd) this.#take(event);
  }

  #take(event: StreamEvent): void {
    const { request_id, sequence } = event.metadata;
    const hasCome =
      sequence === undefined ? event.type === "session_start" && this.sequence >= 0 : sequence <= this.sequence;
    if (this.#isContinued && hasCome) return;
    this.requestId = request_id ?? this.requestId;
    this.sequence = sequence ?? this.sequence + 1;
    if (event.type === "session_end") {
      this.#warnOfTheRest();
      if (event.data.status === "error" && !this.failed) this.#out.push(this.#failureBefore(event.data.reason));
      this.ended = true;
    } else if (this.failed) return;
    else if (event.type === "error") {
      this.#lastError = event;
      this.failed = event.data.terminal;
    }
    this.#out.push(event);
  }

  /** The terminal error of an end that says `error` without one (1.0): the last one that was reported, else one made up. */
  #failureBefore(reason: Failure["reason"]): StreamEvent {
    this.failed = true;
    const known = this.#lastError;
    if (known) return { ...known, data: { ...known.data, terminal: true } };
    return this.#made("error", errorData(failureOf("UPSTREAM_ERROR", { reason })));
  }

  #reject(envelope: Envelope): void {
    if (typeof envelope.request_id === "string") this.requestId = envelope.request_id;
    this.#fail(failureOfEnvelope(envelope, 200), "request_rejected");
  }

  /** Ends the stream. Behind the stream's own terminal error only the end is missing, and that error says why. */
  #fail(failure: Failure, kind: OwnFailure["kind"] | null): void {
    const known = this.failed && this.#lastError;
    if (kind && !this.failed) this.ownFailure = { failure, kind };
    this.#warnOfTheRest();
    if (!this.failed) this.#out.push(this.#made("error", errorData(failure), ++this.sequence));
    this.failed = this.ended = true;
    const reason = known ? failureOfError(known.data).reason : failure.reason;
    this.#out.push(this.#made("session_end", { status: "error", reason }, ++this.sequence));
  }

  #noteMalformed(): boolean {
    this.#malformed += 1;
    if (this.#malformed > MAX_MALFORMED) {
      this.#fail(failureOf("STREAM_LIMIT_EXCEEDED", { reason: "malformed" }), "stream_failed");
    } else if (this.started && this.#malformed <= MAX_REPORTED) this.#warn("A part");
    return !this.ended;
  }

  #warnOfTheRest(): void {
    const more = this.#malformed - MAX_REPORTED;
    this.#malformed = 0;
    if (more > 0) this.#warn(`${more} more parts`);
  }

  #warn(what: string): void {
    const message = `${what} of the answer could not be read and ${what === "A part" ? "was" : "were"} left out.`;
    if (!this.failed) this.#out.push(this.#made("warning", { message, message_code: "UPSTREAM_MALFORMED_EVENT" }));
  }

  #made<T extends "error" | "session_end" | "warning">(type: T, data: DataOf<T>, sequence?: number): StreamEvent {
    const metadata = { ...this.#stamp(), ...(sequence === undefined ? {} : { sequence }) };
    return { type, data, metadata } as StreamEvent;
  }

  #stamp(): EventMetadata {
    const timestamp = Date.now();
    return this.requestId === null ? { timestamp } : { timestamp, request_id: this.requestId };
  }
}

/** The data of the terminal error event that says of a failure. */
export const errorData = ({ reason: _, ...failure }: Failure): DataOf<"error"> =>
  JSON.parse(JSON.stringify({ ...failure, terminal: true }));

/** The failure that a terminal error event says, with the reason of its `session_end` where that has come. */
export const failureOfError = (data: DataOf<"error">, reason?: Failure["reason"]): Failure => ({
  ...data,
  reason: reason ?? rowOf(data.code)?.reason ?? "upstream_error",
});
