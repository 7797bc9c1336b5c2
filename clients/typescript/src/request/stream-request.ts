import { type Failure, failureOf } from "../events/codes.js";
import { failureOfAnswer } from "../events/envelope.js";
import { EventReader, failureOfError } from "../events/event-reader.js";
import type { EventOf } from "../events/event-types.js";
import type { StreamEvent } from "../protocol.js";
import { type Body, type BodySource, sourceOf, sourceOfAnswer } from "./body-source.js";
import { type FailureKind, StreamRequestError } from "./errors.js";
import { cancelUrlOf, encodedBody, mergedHeaders, randomId, refusalText, resolved, runUrlOf } from "./http.js";
import type { ParseOptions, StreamRequestOptions } from "./options.js";
import { type Clock, ClockRanOut, LEFT, Patience } from "./patience.js";
import { pause, resumePlan, waitBefore } from "./pause.js";
import { callSafely } from "./report.js";

/** A stream that is asked for: its events, and what is known of the request. */
export interface StreamRequest extends AsyncIterableIterator<StreamEvent> {
  /** The id in the server's log: of the answer, else of its events, else the one that was sent. */
  readonly requestId: string | null;
  /** The answer, once its headers are here. */
  readonly response: Response | null;
  /** The handle of the run, where the stream is resumable. */
  readonly run: string | null;
  /** Where the run is read. */
  readonly runUrl: string | null;
  /** How often the stream was gone on with after a break. */
  readonly resumes: number;
  next(): Promise<IteratorResult<StreamEvent, undefined>>;
  return(): Promise<IteratorResult<StreamEvent, undefined>>;
  /** Leaves the stream: the run goes on. */
  cancel(): void;
  /** Leaves the stream and stops its run, where the answer has named it. Never rejects. */
  stop(): Promise<void>;
}

/** Types of media that are no text. */
const NO_STREAM = /^\s*(audio|font|image|multipart|video)\//i;
const ACCEPTED = [200, 201, 202];
/** Answers to a try to go on after which another one may do. */
const COMES_BACK = [429, 502, 503, 504];
const DONE = { done: true, value: undefined } as const;
const ignore = () => {};

/** What broke a stream. `isFinal`: no other try is of use. */
class Break {
  constructor(
    readonly kind: FailureKind,
    readonly failure: Failure,
    readonly cause?: unknown,
    readonly isFinal = false,
  ) {}
}

/**
 * The events of one stream, taken one at a time: nothing is read before it is asked for, and nothing runs meanwhile.
 *
 * | state   | set by                                         | what `next` does                           |
 * |---------|------------------------------------------------|--------------------------------------------|
 * | unread  | construction                                   | begins                                     |
 * | open    | the first `next`                               | gives an event, or waits for the network   |
 * | aborted | the signal                                     | rejects once with its reason, then is done |
 * | over    | the last event, a failure, `cancel`, `return`  | is done                                    |
 *
 * Within `open` a broken body is followed by another one of its run, as long as `#recover` says so.
 */
class EventStream implements StreamRequest {
  response: Response | null = null;
  run: string | null = null;
  runUrl: string | null = null;
  resumes = 0;
  readonly #options: StreamRequestOptions;
  readonly #method: string;
  readonly #sentId: string | null;
  /** The handle that the request brings along. */
  readonly #handle: string | null;
  readonly #reader: EventReader;
  readonly #patience = new Patience();
  readonly #firstEvent: Clock;
  readonly #idle: number | null;
  readonly #total: Clock;
  #state: "unread" | "open" | "aborted" | "over" = "unread";
  #source: BodySource | null = null;
  #controller: AbortController | null = null;
  /** What has come and was not given yet, the last event first. */
  #queue: StreamEvent[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  /** What ended the stream here. */
  #failure: Break | null = null;
  /** Tries since the last event, and what broke the stream before the first of them. */
  #attempts = 0;
  #broken: Break | null = null;

  constructor(
    private readonly url: string,
    options: StreamRequestOptions,
    private readonly body?: Body,
  ) {
    const { method = "POST", resume, timeouts = {}, requestId } = options;
    const { firstEvent = 90_000, idle = 120_000, total = null } = timeouts;
    this.#options = options;
    this.#method = method;
    this.#sentId = requestId === undefined && !body ? randomId("req_") : (requestId ?? null);
    this.#handle = resume && method.toUpperCase() !== "GET" ? randomId("run_") : null;
    this.#reader = new EventReader({ ...options, requestId: this.#sentId });
    this.#firstEvent = { left: firstEvent ?? Infinity, reason: "first_event_timeout" };
    this.#idle = idle;
    this.#total = { left: total ?? Infinity, reason: "total_timeout" };
  }

  get requestId(): string | null {
    return this.response?.headers.get("x-request-id") ?? this.#reader.requestId;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamEvent, undefined>> {
    const turn = this.#turn.then(() => this.#next());
    this.#turn = turn.catch(ignore);
    return turn;
  }

  return(): Promise<IteratorResult<StreamEvent, undefined>> {
    this.cancel();
    return Promise.resolve(DONE);
  }

  cancel(): void {
    this.#leave("over");
  }

  async stop(): Promise<void> {
    const url = this.#reader.ended && !this.#reader.failed ? null : this.runUrl;
    this.cancel();
    if (url === null) return;
    try {
      const headers = await this.#headers({ accept: "application/json" }, false);
      const answer = await this.#fetch(cancelUrlOf(url), { method: "POST", headers, keepalive: true });
      await answer.body?.cancel();
    } catch {
      // the run ends by itself when nobody reads it
    }
  }

  readonly #onAbort = () => this.#leave("aborted");

  #leave(to: "over" | "aborted"): void {
    if (this.#state === "over" || this.#state === "aborted") return;
    this.#state = to;
    this.#queue = [];
    this.#shut();
    if (to === "over") this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#patience.interrupt(LEFT);
  }

  /** Closes the connection. */
  #shut(): void {
    this.#controller?.abort();
    this.#source?.close()?.catch(ignore);
    this.#controller = this.#source = null;
  }

  async #next(): Promise<IteratorResult<StreamEvent, undefined>> {
    const { signal } = this.#options;
    if (this.#state === "unread") {
      this.#state = signal?.aborted ? "aborted" : "open";
      if (this.#state === "open") signal?.addEventListener("abort", this.#onAbort);
    }
    while (this.#state === "open" && !this.#queue.length) {
      if (this.#reader.ended) this.cancel();
      else await this.#advance();
    }
    if ((this.#state as string) === "aborted") {
      this.#state = "over";
      signal?.removeEventListener("abort", this.#onAbort);
      throw signal?.reason;
    }
    return this.#state === "open" ? this.#give() : DONE;
  }

  #give(): IteratorResult<StreamEvent, undefined> {
    const event = this.#queue.pop() as StreamEvent;
    if (event.type === "error" && event.data.terminal && this.#options.throwErrors !== false) {
      const failure = this.#error(this.#failure ?? this.#breakOf(event));
      this.cancel();
      throw failure;
    }
    this.#attempts = 0;
    this.#broken = null;
    if (event.type === "warning") callSafely(this.#options.onWarning, event.data);
    if (event.type === "session_end") this.cancel();
    return { done: false, value: event };
  }

  /** What a terminal error of the stream means, with the reason of its `session_end` where that has come. */
  #breakOf({ data }: EventOf<"error">): Break {
    const own = this.#reader.ownFailure;
    const end = this.#queue.find(({ type }) => type === "session_end") as EventOf<"session_end"> | undefined;
    return own ? new Break(own.kind, own.failure) : new Break("stream_failed", failureOfError(data, end?.data.reason));
  }

  #error({ kind, failure, cause }: Break): StreamRequestError {
    const { requestId, response } = this;
    return new StreamRequestError({ ...failure, kind, cause, requestId, status: response?.status ?? null });
  }

  /** Waits for the network once, and takes in what it gave; goes on after a break, or ends the stream with it. */
  async #advance(): Promise<void> {
    try {
      await (this.#source ? this.#read(this.#source) : this.#open());
    } catch (error) {
      if (this.#state === "open") await this.#breakOff(error);
    }
    if (this.#reader.ended) this.#shut();
  }

  /** What broke the stream; what is none, such as a function of the page that throws, is thrown, and ends it too. */
  #asBreak(error: unknown): Break {
    if (error instanceof Break) return error;
    if (error instanceof ClockRanOut) {
      return new Break("request_timeout", failureOf("UPSTREAM_TIMEOUT", { reason: error.reason }));
    }
    this.cancel();
    throw error;
  }

  async #breakOff(error: unknown): Promise<void> {
    this.#shut();
    let broken = this.#asBreak(error);
    try {
      if (!this.#reader.failed && (await this.#recover(broken))) return;
    } catch (late) {
      if (this.#state !== "open") return;
      broken = this.#asBreak(late);
    }
    this.#failure = broken.failure.reason === "total_timeout" ? broken : (this.#broken ?? broken);
    this.#queue.unshift(...this.#reader.fail(this.#failure.failure).reverse());
  }

  /** A wait that leaving and the clocks end. `idle`: for how long. */
  #wait<T>(work: Promise<T>, idle: number | null = null, isAsking = true): Promise<T> {
    const clocks: Clock[] = [this.#total, { left: idle ?? Infinity, reason: "idle_timeout" }];
    if (isAsking && !this.#reader.started) clocks.push(this.#firstEvent);
    return this.#patience.wait(work, clocks);
  }

  async #read(source: BodySource): Promise<void> {
    const reader = this.#reader;
    const { done, value = "" } = await this.#wait(source.read(), this.#idle).catch((cause) => {
      if (cause === LEFT || cause instanceof ClockRanOut) throw cause;
      throw new Break("stream_truncated", failureOf("UPSTREAM_TRUNCATED"), cause);
    });
    this.#queue = (done ? reader.flush() : reader.feed(value)).reverse();
    if (!done || reader.ended) return;
    const { kind, failure } = reader.missing;
    throw new Break(kind, failure);
  }

  /** Begins another try after a while; false where none is of use. */
  async #recover(broken: Break): Promise<boolean> {
    const { resume, onReconnect } = this.#options;
    const plan = resumePlan(resume);
    if (!this.#canRecover(broken) || this.#attempts >= plan.attempts) return false;
    this.#broken ??= broken;
    this.#attempts += 1;
    const named = broken.failure.retry_after_ms ?? 0;
    const delayMs = Math.max(named, waitBefore(this.#attempts, plan));
    callSafely(onReconnect, { attempt: this.#attempts, delayMs, error: this.#error(this.#broken) });
    const rest = pause(delayMs, named > 0);
    await this.#wait(rest.over, null, false).finally(rest.drop);
    return true;
  }

  #canRecover({ kind, failure, isFinal }: Break): boolean {
    const { resume, normalize } = this.#options;
    if (resume === false || isFinal) return false;
    if (!this.response) return this.#handle !== null && kind === "connection_failed";
    const { started, lastEventId } = this.#reader;
    if (this.runUrl === null || (normalize && started && lastEventId === null)) return false;
    if (kind === "request_timeout") return failure.reason === "idle_timeout";
    return kind !== "stream_failed" || this.#broken !== null;
  }

  async #open(): Promise<void> {
    if (this.body) this.#source = sourceOf(this.body);
    else await (this.runUrl !== null && this.response ? this.#reopen(this.runUrl) : this.#ask());
  }

  async #ask(): Promise<void> {
    const { body, type } = encodedBody(this.#options.body);
    const { lastEventId = null, onResponse } = this.#options;
    const own = { "content-type": type, "x-streamweir-run": this.#handle, "last-event-id": lastEventId };
    const headers = await this.#wait(this.#headers(own, true));
    this.#reader.requestId = headers.get("x-request-id");
    const init = { method: this.#method, headers, ...(body === undefined ? {} : { body }) };
    const response = await this.#send(this.url, init, false);
    this.response = response;
    if (response.status === 204 && this.#method.toUpperCase() === "GET") return this.cancel();
    if (!ACCEPTED.includes(response.status)) {
      const text = await this.#wait(refusalText(response), null, false);
      const { failure, requestId } = failureOfAnswer(response.status, response.headers.get("retry-after"), text);
      this.#reader.requestId = requestId ?? this.#reader.requestId;
      throw new Break("request_rejected", failure);
    }
    this.#take(response);
    this.run = response.headers.get("x-streamweir-run");
    this.runUrl = runUrlOf(response, this.url);
    callSafely(onResponse, response);
  }

  /** Asks for the rest of the run. */
  async #reopen(runUrl: string): Promise<void> {
    const { lastEventId, sequence } = this.#reader;
    const url = new URL(runUrl);
    const isJson = this.#options.framing === "ndjson";
    if (isJson && lastEventId === null && sequence >= 0) url.searchParams.set("after", String(sequence));
    const position = lastEventId ?? (isJson ? null : (this.#options.lastEventId ?? null));
    const headers = await this.#wait(this.#headers({ "last-event-id": position }, false));
    const response = await this.#send(url.href, { method: "GET", headers }, true);
    if (!ACCEPTED.includes(response.status)) {
      const { failure } = failureOfAnswer(response.status, response.headers.get("retry-after"), "");
      throw new Break("request_rejected", failure, undefined, !COMES_BACK.includes(response.status));
    }
    this.#reader.continueWith();
    this.#take(response);
    this.resumes += 1;
  }

  #take(response: Response): void {
    if (NO_STREAM.test(response.headers.get("content-type") ?? "")) {
      throw new Break("stream_failed", failureOf("UPSTREAM_INVALID_RESPONSE"));
    }
    this.#source = sourceOfAnswer(response);
  }

  async #headers(own: Record<string, string | null>, hasBody: boolean): Promise<Headers> {
    const { framing, protocol = null } = this.#options;
    const accept = framing === "ndjson" ? "application/x-ndjson" : "text/event-stream";
    const all = { accept, "x-streamweir-protocol": protocol, "x-request-id": this.#sentId, ...own };
    const headers = mergedHeaders(all, await resolved(this.#options.headers));
    if (!hasBody) headers.delete("content-type");
    return headers;
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetch: send = fetch, fetchOptions } = this.#options;
    return send(url, { ...fetchOptions, ...init });
  }

  async #send(url: string, init: RequestInit, isResuming: boolean): Promise<Response> {
    this.#controller = new AbortController();
    const answer = this.#fetch(url, { ...init, signal: this.#controller.signal });
    try {
      return await this.#wait(answer, isResuming ? this.#idle : null, !isResuming);
    } catch (cause) {
      if (cause === LEFT || cause instanceof ClockRanOut) throw cause;
      throw new Break("connection_failed", failureOf("UPSTREAM_UNREACHABLE"), cause);
    }
  }
}

/** Asks for a stream. Nothing is sent before its first event is asked for; leaving it closes the connection. */
export const streamRequest = (url: string | URL, options: StreamRequestOptions = {}): StreamRequest =>
  new EventStream(String(url), options);

/** The events of a body that is there already: of a `Response`, of a file, of a test. */
export const parseStream = (body: Body, options: ParseOptions = {}): AsyncIterableIterator<StreamEvent> =>
  new EventStream("", options, body);
