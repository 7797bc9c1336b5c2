import { failureOf } from "../events/codes.js";
import { EventReader, failureOfError } from "../events/event-reader.js";
import type { EventOf } from "../events/event-types.js";
import type { StreamEvent } from "../protocol.js";
import { type Body, type BodySource, sourceOf } from "./body-source.js";
import { type FailureKind, StreamRequestError } from "./errors.js";
import type { ParseOptions } from "./options.js";
import { type Clock, ClockRanOut, LEFT, Patience } from "./patience.js";
import { callSafely } from "./report.js";

/**
 * The events of one stream, taken one at a time: nothing is read before it is asked for, and nothing runs meanwhile.
 *
 * | state   | set by                                         | what `next` does                            |
 * |---------|------------------------------------------------|---------------------------------------------|
 * | unread  | construction                                   | begins                                      |
 * | open    | the first `next`                               | gives an event, or waits for the network    |
 * | left    | `cancel`, `return`, `break`                    | is done                                     |
 * | aborted | the signal                                     | rejects once with its reason, then is done  |
 * | over    | the last event was given, or a failure thrown  | is done                                     |
 *
 * Subclasses say where the body comes from (`open`) and whether a broken one is gone on with (`recover`).
 */
export abstract class EventStream implements AsyncIterableIterator<StreamEvent> {
  protected readonly reader: EventReader;
  protected readonly patience = new Patience();
  protected source: BodySource | null = null;
  /** The HTTP status of the answer. */
  protected status: number | null = null;
  #state: "unread" | "open" | "left" | "aborted" | "over" = "unread";
  #queue: StreamEvent[] = [];
  #given = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #failure: StreamRequestError | null = null;
  readonly #firstEvent: Clock | null;
  readonly #idle: number | null;
  readonly #total: Clock | null;
  readonly #onAbort = () => this.#leave("aborted");

  constructor(private readonly options: ParseOptions) {
    this.reader = new EventReader(options);
    const { firstEvent = 90_000, idle = 120_000, total = null } = options.timeouts ?? {};
    this.#firstEvent = firstEvent === null ? null : { left: firstEvent, reason: "first_event_timeout" };
    this.#idle = idle;
    this.#total = total === null ? null : { left: total, reason: "total_timeout" };
  }

  /** The id in the server's log: of the answer's header, else of the events, else the one that was sent. */
  get requestId(): string | null {
    return this.reader.requestId;
  }

  /** Opens the body. Throws a `StreamRequestError` where there is none; sets `source`, unless nothing is to be read. */
  protected abstract open(): Promise<void>;

  /** Closes what `open` opened, also while it opens. */
  protected abstract close(): void;

  /** Called with what broke the stream; true where it is gone on with. */
  protected abstract recover(failure: StreamRequestError): Promise<boolean>;

  /** Called with each event that is given. */
  protected abstract noteEvent(): void;

  /** The failure that is told where nothing more is tried. */
  protected finalFailure(failure: StreamRequestError): StreamRequestError {
    return failure;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamEvent, undefined>> {
    if (!this.#waiting && this.#state === "open" && this.#given < this.#queue.length) {
      return new Promise((resolve) => resolve(this.#give()));
    }
    this.#waiting += 1;
    const turn = this.#turn.then(() => this.#next()).finally(() => (this.#waiting -= 1));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  return(): Promise<IteratorResult<StreamEvent, undefined>> {
    this.cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(error: unknown): Promise<IteratorResult<StreamEvent, undefined>> {
    this.cancel();
    return Promise.reject(error);
  }

  /** Closes the connection at once; the iteration ends without an error, also while it waits. */
  cancel(): void {
    this.#leave("left");
  }

  /** A wait that leaving and the clocks end. `isBody`: silence counts as idle. */
  protected wait<T>(work: Promise<T>, isBody: boolean, isAsking = true): Promise<T> {
    const clocks: Clock[] = [];
    if (this.#total) clocks.push(this.#total);
    if (this.#firstEvent && isAsking && !this.reader.started) clocks.push(this.#firstEvent);
    if (isBody && this.#idle !== null) clocks.push({ left: this.#idle, reason: "idle_timeout" });
    return this.patience.wait(work, clocks);
  }

  protected failure(kind: FailureKind, failure = failureOf("UPSTREAM_TRUNCATED"), cause?: unknown): StreamRequestError {
    return new StreamRequestError({ ...failure, kind, requestId: this.requestId, status: this.status, cause });
  }

  #leave(to: "left" | "aborted"): void {
    if (this.#state === "left" || this.#state === "aborted" || this.#state === "over") return;
    this.#state = to;
    this.#queue = [];
    this.#given = 0;
    this.#shut();
    if (to === "left") this.options.signal?.removeEventListener("abort", this.#onAbort);
    this.patience.interrupt(LEFT);
  }

  #shut(): void {
    this.source?.close();
    this.source = null;
    this.close();
  }

  #finish(): void {
    this.#state = "over";
    this.#shut();
    this.options.signal?.removeEventListener("abort", this.#onAbort);
  }

  async #next(): Promise<IteratorResult<StreamEvent, undefined>> {
    if (this.#state === "unread") this.#begin();
    for (;;) {
      if (this.#state === "aborted") {
        this.#finish();
        throw this.options.signal?.reason;
      }
      if (this.#state !== "open") return { done: true, value: undefined };
      if (this.#given < this.#queue.length) return this.#give();
      if (this.reader.ended) this.#finish();
      else await this.#advance();
    }
  }

  #begin(): void {
    const { signal } = this.options;
    this.#state = signal?.aborted ? "aborted" : "open";
    if (this.#state === "open") signal?.addEventListener("abort", this.#onAbort);
  }

  #give(): IteratorResult<StreamEvent, undefined> {
    const event = this.#queue[this.#given++] as StreamEvent;
    if (this.#given === this.#queue.length) {
      this.#queue = [];
      this.#given = 0;
    }
    if (event.type === "error" && event.data.terminal && this.options.throwErrors !== false) {
      const failure = this.#failure ?? this.#failureOf(event);
      this.#finish();
      throw failure;
    }
    this.noteEvent();
    if (event.type === "warning") callSafely(this.options.onWarning, event.data);
    if (event.type === "session_end") this.#finish();
    return { done: false, value: event };
  }

  #failureOf(event: EventOf<"error">): StreamRequestError {
    const own = this.reader.ownFailure;
    if (own) return this.failure(own.kind, own.failure);
    const end = this.#queue.find(({ type }) => type === "session_end") as EventOf<"session_end"> | undefined;
    return this.failure("stream_failed", failureOfError(event.data, end?.data.reason));
  }

  /** Waits for the network once, and takes in what it gave. */
  async #advance(): Promise<void> {
    try {
      if (this.source === null) await this.open();
      else await this.#read(this.source);
    } catch (error) {
      if (this.#state !== "open") return;
      if (!(error instanceof StreamRequestError || error instanceof ClockRanOut)) {
        this.#finish();
        throw error;
      }
      await this.#breakOff(error instanceof ClockRanOut ? this.#ranOut(error) : error);
    }
    if (this.reader.ended) this.#shut();
  }

  /** There is nothing to be read: the iteration is empty. */
  protected end(): void {
    this.#finish();
  }

  async #read(source: BodySource): Promise<void> {
    let chunk: Uint8Array | string | null;
    try {
      chunk = await this.wait(source.read(), true);
    } catch (error) {
      if (error === LEFT || error instanceof ClockRanOut) throw error;
      throw this.failure("stream_truncated", undefined, error);
    }
    this.#add(chunk === null ? this.reader.flush() : this.reader.feed(chunk));
    if (chunk !== null || this.reader.ended) return;
    const { kind, failure } = this.reader.missing;
    throw this.failure(kind, failure);
  }

  #add(events: StreamEvent[]): void {
    if (this.#queue.length) this.#queue.push(...events);
    else this.#queue = events;
  }

  #ranOut({ reason }: ClockRanOut): StreamRequestError {
    return this.failure("request_timeout", failureOf("UPSTREAM_TIMEOUT", { reason }));
  }

  async #breakOff(failure: StreamRequestError): Promise<void> {
    this.#shut();
    try {
      if (!this.reader.failed && (await this.recover(failure))) return;
    } catch (error) {
      if (this.#state !== "open") return;
      if (!(error instanceof ClockRanOut)) throw error;
      failure = this.#ranOut(error);
    }
    this.#failure = this.finalFailure(failure);
    this.#add(this.reader.fail(this.#failure));
  }
}

/** A body that is there already. */
class BodyStream extends EventStream {
  constructor(
    private readonly body: Body,
    options: ParseOptions,
  ) {
    super(options);
  }

  protected async open(): Promise<void> {
    this.source = sourceOf(this.body);
  }

  protected close(): void {}

  protected async recover(): Promise<boolean> {
    return false;
  }

  protected noteEvent(): void {}
}

/** The events of a body that is there already: of a `Response`, of a file, of a test. */
export const parseStream = (body: Body, options: ParseOptions = {}): AsyncIterableIterator<StreamEvent> =>
  new BodyStream(body, options);
