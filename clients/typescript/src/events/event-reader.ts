import { createFrameParser, type Frame, type FrameParser } from "../framing/frame-parser.js";
import type { EventMetadata, StreamEvent } from "../protocol.js";
import { Failure, type FailureFields, failure, failureFields } from "./codes.js";
import { fieldsOfEnvelope, isEnvelope } from "./envelope.js";
import type { DataOf, EventOf } from "./event-types.js";
import { readEvent } from "./read-event.js";

/** Reads one message of an old vocabulary: see `streamweir/legacy`. `close` gives the events that the end of the body means. */
export interface Normalizer {
  (message: unknown, eventName?: string | undefined): StreamEvent[];
  close?(): StreamEvent[];
}

/** Options of reading a body. */
export interface EventReaderOptions {
  /** The id of events that the reader makes itself, until an event of the stream names another. */
  requestId?: string | null | undefined;
  /** The framing that was asked for. The first bytes decide which one is read. */
  framing?: "sse" | "ndjson" | undefined;
  /** Reads messages that are no standard events. */
  normalize?: Normalizer | undefined;
  /** The most characters that one event may have; 8 Mi if absent. */
  maxEventSize?: number | undefined;
}

const MAX_EVENT_SIZE = 8 * 1024 * 1024;
const MAX_REPORTED = 10;
const MAX_MALFORMED = 100;

/**
 * Turns the bytes of a body into events. It does no I/O, sets no timer, and never throws.
 *
 * | state    | set by                                         | events that may follow                  |
 * |----------|------------------------------------------------|-----------------------------------------|
 * | waiting  | construction                                   | the first event, or a refusal           |
 * | started  | the first event                                | any                                     |
 * | failed   | a terminal `error`                             | only `session_end`                      |
 * | ended    | `session_end`, `fail`, a limit, `close`        | no event                                |
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
  /** @internal The failure that ended the stream, unless the stream itself has reported it. */
  failure: Failure | null = null;

  readonly #limit: number;
  readonly #normalize: Normalizer | undefined;
  #parser!: FrameParser;
  #malformed = 0;
  /** How many of them have a warning of their own. */
  #warned = 0;
  #isContinued = false;
  #lastError: EventOf<"error"> | null = null;
  #out: StreamEvent[] = [];

  constructor({ requestId, maxEventSize, normalize }: EventReaderOptions = {}) {
    this.requestId = requestId ?? null;
    this.#limit = maxEventSize ?? MAX_EVENT_SIZE;
    this.#normalize = normalize;
    this.continueWith(false);
  }

  /** The events that `chunk` completes. */
  feed(chunk: Uint8Array | string): StreamEvent[] {
    return this.#collect(() => this.#parser.feed(chunk));
  }

  /** The body has ended: the last events, with an `error` and a `session_end` if the stream's own end is missing. */
  close(): StreamEvent[] {
    return [...this.flush(), ...this.fail(this.missing)];
  }

  /** @internal The body has ended, and another one may follow: the event that lacks its line end. */
  flush(): StreamEvent[] {
    return this.#collect(() => {
      this.#parser.finish();
      this.#add(() => this.#normalize?.close?.());
    });
  }

  /** @internal Ends the stream with a failure. */
  fail(failure: Failure): StreamEvent[] {
    return this.#collect(() => this.#fail(failure));
  }

  /** @internal The failure of a body that has ended without the stream's end. */
  get missing(): Failure {
    return !this.started && (this.#malformed > 0 || this.#parser.isForeign())
      ? failure("stream_failed", "UPSTREAM_INVALID_RESPONSE")
      : failure("stream_truncated", "UPSTREAM_TRUNCATED");
  }

  /** @internal Another body of the same stream begins. */
  continueWith(isContinued = true): void {
    this.#isContinued = isContinued;
    this.#parser = createFrameParser(
      this.#limit,
      (frame) => {
        this.#read(frame);
        return !this.ended;
      },
      (code) => {
        throw failure("stream_failed", code);
      },
    );
  }

  /** The events that `work` adds; none if the stream is over already. */
  #collect(work: () => void): StreamEvent[] {
    try {
      if (!this.ended) work();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#fail(error);
    }
    const events = this.#out;
    this.#out = [];
    return events;
  }

  #read({ data, event, id, unterminated }: Frame): void {
    if (data === "[DONE]" || !(data || (this.#normalize && event))) return;
    let message: unknown = {};
    try {
      if (data) message = JSON.parse(data);
    } catch {
      if (unterminated && /^[[{]/.test(data)) return; // half an event: the body broke off
      if (!this.#normalize || !event || /^\s*[[{"]/.test(data)) return this.#noteMalformed();
      message = data;
    }
    this.lastEventId = id ?? this.lastEventId;
    if (!this.started && isEnvelope(message)) {
      this.#fail(new Failure("request_rejected", fieldsOfEnvelope(message, 200)));
    } else this.#add(() => (this.#normalize ? this.#normalize(message, event ?? undefined) : [message]));
  }

  /** Adds the events that `read` gives, with ids of this reader if a normalizer made them. Null is a malformed event. */
  #add(read: () => unknown[] | undefined): void {
    let events: (StreamEvent | null)[] = [null];
    try {
      events = (read() ?? []).map(readEvent);
    } catch {
      // the normalizer does not understand the message
    }
    for (const event of events) {
      if (this.ended) return;
      if (!event) this.#noteMalformed();
      else if (!this.#normalize) this.#take(event);
      else {
        const metadata = { ...this.#stamp(), ...event.metadata, sequence: this.sequence + 1 };
        this.#take({ ...event, metadata } as StreamEvent);
      }
    }
  }

  #take(event: StreamEvent): void {
    const { request_id, sequence } = event.metadata;
    const hasCome =
      sequence === undefined ? event.type === "session_start" && this.sequence >= 0 : sequence <= this.sequence;
    if (this.#isContinued && hasCome) return;
    this.requestId = request_id ?? this.requestId;
    this.sequence = sequence ?? this.sequence + 1;
    this.started = true;
    if (event.type === "session_end") {
      this.#warn(true);
      if (event.data.status === "error" && !this.failed) this.#addMissingError(event.data.reason);
      this.ended = true;
    } else if (this.failed) return;
    else if (event.type === "error") {
      this.#lastError = event;
      this.failed = event.data.terminal;
    }
    this.#out.push(event);
    this.#warn(false);
  }

  /** An end may say `error` without a terminal error before it (1.0): the last error that came counts, else a new one. */
  #addMissingError(reason: FailureFields["reason"]): void {
    this.failed = true;
    const known = this.#lastError;
    if (known) this.#out.push({ ...known, data: { ...known.data, terminal: true } });
    else this.#make("error", errorData({ ...failureFields("UPSTREAM_ERROR"), reason }));
  }

  /** Ends the stream. After the stream's own terminal error only the end is missing, and its reason is that error's. */
  #fail(failure: Failure): void {
    let { reason } = failure;
    this.requestId = failure.requestId ?? this.requestId;
    this.#warn(true);
    if (this.failed && this.#lastError) reason = fieldsOfError(this.#lastError.data).reason;
    else if (!this.failed) {
      this.failure = failure;
      this.#make("error", errorData(failure), ++this.sequence);
    }
    this.failed = this.ended = true;
    this.#make("session_end", { status: "error", reason }, ++this.sequence);
  }

  #noteMalformed(): void {
    this.#malformed += 1;
    if (this.#malformed > MAX_MALFORMED) {
      this.#fail(failure("stream_failed", "STREAM_LIMIT_EXCEEDED", { reason: "malformed" }));
    } else this.#warn(false);
  }

  /** Adds the warnings of malformed events that are due: one by one up to ten, and one of all others at the end. */
  #warn(isEnd: boolean): void {
    if (!this.started || this.failed || this.ended) return;
    const warn = (parts: string) =>
      this.#make("warning", { message: `${parts} left out.`, message_code: "UPSTREAM_MALFORMED_EVENT" });
    for (; this.#warned < Math.min(this.#malformed, MAX_REPORTED); this.#warned++)
      warn("A part of the answer could not be read and was");
    const more = this.#malformed - this.#warned;
    if (isEnd && more > 0) warn(`${more} more parts of the answer could not be read and were`);
  }

  #make<T extends "error" | "session_end" | "warning">(type: T, data: DataOf<T>, sequence?: number): void {
    const metadata = { ...this.#stamp(), ...(sequence !== undefined && { sequence }) };
    this.#out.push({ type, data, metadata } as StreamEvent);
  }

  #stamp(): EventMetadata {
    return { timestamp: Date.now(), ...(this.requestId !== null && { request_id: this.requestId }) };
  }
}

/** The data of the terminal error event of a failure. */
export function errorData(failure: FailureFields & { kind?: unknown }): DataOf<"error"> {
  const { kind: _, reason: __, requestId: ___, cause: ____, ...shown } = failure;
  return JSON.parse(JSON.stringify({ ...shown, terminal: true }));
}

/** The failure of a terminal error event. */
export function fieldsOfError({
  code,
  error_type,
  message,
  recoverable,
  retry_after_ms,
  details,
}: DataOf<"error">): FailureFields {
  const { reason } = failureFields(code);
  return { code, error_type, message, recoverable, retry_after_ms, reason, ...(details !== undefined && { details }) };
}
