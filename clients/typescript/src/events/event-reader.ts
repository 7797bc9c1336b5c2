import { type Frame, FrameParser, TooLarge } from "../framing/frame-parser.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";
import { type Failure, failureOf, rowOf } from "./codes.js";
import { failureOfEnvelope, isEnvelope } from "./envelope.js";
import type { DataOf, EventOf } from "./event-types.js";
import { isObject, readEvent } from "./read-event.js";

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

const MAX_EVENT_SIZE = 8 * 1024 * 1024;
const MAX_REPORTED = 10;
const MAX_MALFORMED = 100;
const MALFORMED = "UPSTREAM_MALFORMED_EVENT";

/**
 * Bytes in, events out: no I/O, no clock that runs, and no exception whatever comes in.
 *
 * | state    | set by                                         | what follows                       |
 * |----------|------------------------------------------------|------------------------------------|
 * | waiting  | construction                                   | a refusal may come in place of a stream |
 * | started  | the first event                                | events                             |
 * | failed   | a terminal `error`                             | nothing but `session_end`          |
 * | ended    | `session_end`, `fail`, a limit, `close`        | nothing                            |
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
  /** @internal Why the reader itself has ended the stream, and whether it was a refusal. */
  ownFailure: { failure: Failure; kind: "request_rejected" | "stream_failed" | "stream_truncated" } | null = null;

  readonly #limit: number;
  readonly #normalize: Normalizer | undefined;
  #parser: FrameParser;
  #malformed = 0;
  #hasData = false;
  #isContinued = false;
  #lastError: EventOf<"error"> | null = null;
  #out: StreamEvent[] = [];

  constructor(options: EventReaderOptions = {}) {
    this.requestId = options.requestId ?? null;
    this.#limit = options.maxEventSize ?? MAX_EVENT_SIZE;
    this.#normalize = options.normalize;
    this.#parser = new FrameParser(this.#limit);
  }

  /** The events that `chunk` completes. */
  feed(chunk: Uint8Array | string): StreamEvent[] {
    if (this.ended) return [];
    this.#hasData ||= hasContent(chunk);
    this.#guarded(() => this.#parser.feed(chunk, (frame) => this.#frame(frame)));
    if (!this.ended && this.#parser.isMarkup) this.#fail(failureOf("UPSTREAM_INVALID_RESPONSE"), "stream_failed");
    return this.#taken();
  }

  /** The body has ended: what is left, with an `error` and a `session_end` where the stream's own end is missing. */
  close(): StreamEvent[] {
    const events = this.flush();
    if (!this.ended) events.push(...this.#missing());
    return events;
  }

  /** @internal The body has ended, and perhaps another one follows: what its last, unterminated event is. */
  flush(): StreamEvent[] {
    if (this.ended) return [];
    this.#guarded(() => {
      const frame = this.#parser.finish();
      if (frame) this.#frame(frame);
      if (!this.ended && this.#normalize?.close) this.#normalized(() => this.#normalize?.close?.() ?? []);
    });
    return this.#taken();
  }

  /** @internal Ends the stream with a failure that the connection tells of. */
  fail(failure: Failure): StreamEvent[] {
    if (!this.ended) this.#fail(failure, null);
    return this.#taken();
  }

  /** @internal The failure of a body that has ended without the stream's end. */
  get missing(): { failure: Failure; kind: "stream_failed" | "stream_truncated" } {
    const isForeign = this.#hasData && !this.started && (this.#malformed > 0 || !this.#parser.recognised);
    if (isForeign) return { failure: failureOf("UPSTREAM_INVALID_RESPONSE"), kind: "stream_failed" };
    return { failure: failureOf("UPSTREAM_TRUNCATED"), kind: "stream_truncated" };
  }

  /** @internal Another body of the same stream begins. */
  continueWith(): void {
    this.#parser = new FrameParser(this.#limit);
    this.#isContinued = true;
  }

  #missing(): StreamEvent[] {
    const { failure, kind } = this.missing;
    this.#fail(failure, kind);
    return this.#taken();
  }

  #taken(): StreamEvent[] {
    const events = this.#out;
    this.#out = [];
    return events;
  }

  #guarded(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      this.#fail(failureOf("STREAM_LIMIT_EXCEEDED"), "stream_failed");
    }
  }

  /** Takes a frame in; returns whether more is to be read. */
  #frame(frame: Frame): boolean {
    if (frame.data !== "[DONE]" && (frame.data || (this.#normalize && frame.event))) this.#message(frame);
    return !this.ended;
  }

  #message(frame: Frame): void {
    let message: unknown;
    try {
      message = frame.data ? JSON.parse(frame.data) : {};
    } catch {
      if (frame.unterminated && /^[[{]/.test(frame.data)) return; // half an event: the body broke off
      if (!this.#normalize || !frame.event || /^\s*[[{"]/.test(frame.data)) return this.#noteMalformed();
      message = frame.data;
    }
    if (frame.id !== null) this.lastEventId = frame.id;
    if (!this.started && isEnvelope(message)) return this.#reject(message);
    if (this.#normalize) return this.#normalized(() => this.#normalize?.(message, frame.event ?? undefined) ?? []);
    const event = readEvent(message);
    if (event) this.#begin(event);
    else this.#noteMalformed();
  }

  #normalized(normalize: () => StreamEvent[]): void {
    let events: StreamEvent[];
    try {
      events = normalize();
    } catch {
      return this.#noteMalformed();
    }
    for (const event of events) {
      if (this.ended) return;
      this.#begin({ ...event, metadata: this.#stamp(event.metadata) } as StreamEvent);
    }
  }

  /** What the wire has and an old vocabulary lacks: request id, time, place. */
  #stamp(metadata: EventMetadata | undefined): EventMetadata {
    const own = metadata ?? {};
    return {
      ...(this.requestId === null ? {} : { request_id: this.requestId }),
      ...own,
      timestamp: own.timestamp ?? Date.now(),
      sequence: this.sequence + 1,
    };
  }

  #begin(event: StreamEvent): void {
    const waiting = this.started ? 0 : this.#malformed;
    this.started = true;
    if (event.type === "session_end") this.#warn(waiting);
    this.#take(event);
    if (event.type !== "session_end") this.#warn(waiting);
  }

  #take(event: StreamEvent): void {
    const { request_id, sequence } = event.metadata;
    if (this.#isContinued && this.#hasCome(event)) return;
    this.requestId = request_id ?? this.requestId;
    this.sequence = sequence ?? this.sequence + 1;
    if (event.type === "session_end") {
      this.#warnOfTheRest();
      if (event.data.status === "error" && !this.failed) this.#out.push(this.#failureBefore(event));
      this.ended = true;
      this.#out.push(event);
    } else if (!this.failed) {
      if (event.type === "error") {
        this.#lastError = event;
        this.failed = event.data.terminal;
      }
      this.#out.push(event);
    }
  }

  #hasCome({ type, metadata: { sequence } }: StreamEvent): boolean {
    if (sequence !== undefined) return sequence <= this.sequence;
    return type === "session_start" && this.sequence >= 0;
  }

  /** An end that says `error` without one before it (protocol 1.0): the last error that was reported, else one made up. */
  #failureBefore(end: EventOf<"session_end">): StreamEvent {
    this.failed = true;
    if (this.#lastError) return { ...this.#lastError, data: { ...this.#lastError.data, terminal: true } };
    return this.#made("error", errorData(failureOf("UPSTREAM_ERROR", { reason: end.data.reason ?? "upstream_error" })));
  }

  #reject(envelope: Parameters<typeof failureOfEnvelope>[0]): void {
    if (typeof envelope.request_id === "string") this.requestId = envelope.request_id;
    this.#fail(failureOfEnvelope(envelope, 200), "request_rejected");
  }

  #fail(failure: Failure, kind: "request_rejected" | "stream_failed" | "stream_truncated" | null): void {
    if (kind && !this.failed) this.ownFailure = { failure, kind };
    this.#warnOfTheRest();
    if (!this.failed) this.#out.push(this.#made("error", errorData(failure), ++this.sequence));
    this.failed = this.ended = true;
    this.#out.push(this.#made("session_end", { status: "error", reason: this.#reasonOf(failure) }, ++this.sequence));
  }

  /** Behind the stream's own terminal error that error says why it ended. */
  #reasonOf(failure: Failure): Failure["reason"] {
    if (!this.#lastError?.data.terminal) return failure.reason;
    return rowOf(this.#lastError.data.code)?.reason ?? "upstream_error";
  }

  #noteMalformed(): void {
    this.#malformed += 1;
    if (this.#malformed > MAX_MALFORMED) {
      this.#fail(failureOf("STREAM_LIMIT_EXCEEDED", { reason: "malformed" }), "stream_failed");
    } else if (this.started && this.#malformed <= MAX_REPORTED) this.#warn(1);
  }

  #warn(number: number): void {
    for (let count = Math.min(number, MAX_REPORTED); count > 0 && !this.failed; count--) {
      const message = "A part of the answer could not be read and was left out.";
      this.#out.push(this.#made("warning", { message, message_code: MALFORMED }));
    }
  }

  #warnOfTheRest(): void {
    const more = this.#malformed - MAX_REPORTED;
    this.#malformed = Math.min(this.#malformed, MAX_REPORTED);
    if (more <= 0 || this.failed) return;
    const message = `${more} more parts of the answer could not be read and were left out.`;
    this.#out.push(this.#made("warning", { message, message_code: MALFORMED }));
  }

  #made<T extends "error" | "session_end" | "warning">(type: T, data: DataOf<T>, sequence?: number): StreamEvent {
    const metadata: EventMetadata = { timestamp: Date.now() };
    if (this.requestId !== null) metadata.request_id = this.requestId;
    if (sequence !== undefined) metadata.sequence = sequence;
    return { type, data, metadata } as StreamEvent;
  }
}

/** The data of the terminal error event that says of a failure. */
function errorData(failure: Failure): DataOf<"error"> {
  return {
    error_type: failure.errorType,
    code: failure.code,
    message: failure.message,
    recoverable: failure.recoverable,
    terminal: true,
    ...(failure.retryAfterMs === null ? {} : { retry_after_ms: failure.retryAfterMs }),
    ...(failure.details === undefined ? {} : { details: failure.details }),
  };
}

/** The failure that a terminal error event says, with the reason of its `session_end` where that has come. */
export function failureOfError(data: DataOf<"error">, reason?: Failure["reason"] | null): Failure {
  return {
    code: data.code,
    errorType: data.error_type,
    message: data.message,
    recoverable: data.recoverable,
    retryAfterMs: data.retry_after_ms ?? null,
    reason: reason ?? rowOf(data.code)?.reason ?? "upstream_error",
    ...(data.details === undefined ? {} : { details: data.details }),
  };
}

const BLANK = [9, 10, 13, 32];

function hasContent(chunk: Uint8Array | string): boolean {
  if (typeof chunk === "string") return /\S/.test(chunk);
  return chunk.some((byte) => !BLANK.includes(byte));
}

/** The JSON object of one NDJSON line or one SSE `data:` line; null for what is none. */
export function parseStreamLine(line: string): Record<string, unknown> | null {
  const bare = line
    .trim()
    .replace(/^\uFEFF/, "")
    .trim();
  const text = bare.startsWith("data:") ? bare.slice(5).trim() : bare;
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
