import { codeOfStatus, failureOf } from "../events/codes.js";
import { failureOfAnswer } from "../events/envelope.js";
import type { StreamEvent } from "../protocol.js";
import { sourceOfAnswer } from "./body-source.js";
import type { StreamRequestError } from "./errors.js";
import { EventStream } from "./event-stream.js";
import { cancelUrlOf, encodedBody, mergedHeaders, randomId, refusalText, resolved, runUrlOf } from "./http.js";
import type { StreamRequestOptions } from "./options.js";
import { LEFT } from "./patience.js";
import { pause, resumePlan, waitBefore } from "./pause.js";
import { callSafely } from "./report.js";

/** A stream that is asked for: its events, and what is known of the request. */
export interface StreamRequest extends AsyncIterableIterator<StreamEvent> {
  /** The id in the server's log; null where none was sent and none has come. */
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
const NO_STREAM = /^(audio|font|image|multipart|video)\//i;
const COMES_BACK = [429, 502, 503, 504];
const ACCEPTED = [200, 201, 202];

/** Thrown where a try to go on shows that there is no more to come. */
class GivenUp {}

class HttpEventStream extends EventStream implements StreamRequest {
  response: Response | null = null;
  run: string | null = null;
  runUrl: string | null = null;
  resumes = 0;
  readonly #url: string;
  readonly #options: StreamRequestOptions;
  readonly #isGet: boolean;
  readonly #sentId: string | null;
  /** The handle that the request brings along. */
  readonly #ownHandle: string | null;
  #controller: AbortController | null = null;
  /** Tries since the last event, and what broke the stream before the first of them. */
  #attempts = 0;
  #broken: StreamRequestError | null = null;

  constructor(url: string | URL, options: StreamRequestOptions) {
    const sentId = options.requestId === undefined ? randomId("req_") : options.requestId;
    super({ ...options, requestId: sentId });
    this.#url = String(url);
    this.#options = options;
    this.#sentId = sentId;
    this.#isGet = (options.method ?? "POST").toUpperCase() === "GET";
    this.#ownHandle = options.resume && !this.#isGet ? randomId("run_") : null;
  }

  override get requestId(): string | null {
    return this.response?.headers.get("x-request-id") ?? super.requestId;
  }

  async stop(): Promise<void> {
    const url = this.reader.ended && !this.reader.failed ? null : this.runUrl;
    this.cancel();
    if (url === null) return;
    try {
      const headers = await this.#headers({ accept: "application/json" }, false);
      const { fetch: send = fetch, fetchOptions } = this.#options;
      const answer = await send(cancelUrlOf(url), { ...fetchOptions, method: "POST", headers, keepalive: true });
      await answer.body?.cancel();
    } catch {
      // the run ends by itself when nobody reads it
    }
  }

  protected async open(): Promise<void> {
    if (this.response) await this.#reopen(this.runUrl as string);
    else await this.#ask();
  }

  protected close(): void {
    this.#controller?.abort();
    this.#controller = null;
  }

  protected noteEvent(): void {
    this.#attempts = 0;
    this.#broken = null;
  }

  protected override finalFailure(failure: StreamRequestError): StreamRequestError {
    return failure.reason === "total_timeout" ? failure : (this.#broken ?? failure);
  }

  protected async recover(failure: StreamRequestError): Promise<boolean> {
    const plan = resumePlan(this.#options.resume);
    if (!this.#canRecover(failure) || this.#attempts >= plan.attempts) return false;
    this.#broken ??= failure;
    this.#attempts += 1;
    const named = failure.retryAfterMs ?? 0;
    const delayMs = Math.max(named, waitBefore(this.#attempts, plan));
    callSafely(this.#options.onReconnect, { attempt: this.#attempts, delayMs, error: this.#broken });
    const rest = pause(delayMs, named > 0);
    try {
      await this.wait(rest.over, false, false);
    } finally {
      rest.drop();
    }
    return true;
  }

  #canRecover(failure: StreamRequestError): boolean {
    if (this.#options.resume === false || failure.cause instanceof GivenUp) return false;
    if (!this.response) return this.#ownHandle !== null && failure.kind === "connection_failed";
    if (this.runUrl === null || (this.#options.normalize && this.reader.started && this.reader.lastEventId === null)) {
      return false;
    }
    if (failure.kind === "request_timeout") return failure.reason === "idle_timeout";
    return failure.kind !== "stream_failed" || this.#broken !== null;
  }

  async #ask(): Promise<void> {
    const { body, type } = encodedBody(this.#options.body);
    const { method = "POST", framing, protocol, lastEventId } = this.#options;
    const headers = await this.#prepared({
      accept: framing === "ndjson" ? "application/x-ndjson" : "text/event-stream",
      "content-type": type,
      "x-streamweir-protocol": protocol ?? null,
      "x-streamweir-run": this.#ownHandle,
      "last-event-id": lastEventId ?? null,
    });
    this.reader.requestId = headers.get("x-request-id") ?? this.#sentId;
    const response = await this.#send(this.#url, { method, headers, ...(body === undefined ? {} : { body }) }, false);
    this.response = response;
    this.status = response.status;
    if (response.status === 204 && this.#isGet) return this.end();
    if (!ACCEPTED.includes(response.status)) throw await this.#refusal(response);
    this.#read(response);
    this.run = response.headers.get("x-streamweir-run");
    this.runUrl = runUrlOf(response, this.#url);
    callSafely(this.#options.onResponse, response);
  }

  /** Asks for the rest of the run. */
  async #reopen(runUrl: string): Promise<void> {
    const { framing, protocol } = this.#options;
    const isJson = framing === "ndjson";
    const { lastEventId, sequence } = this.reader;
    const headers = await this.#prepared({
      accept: isJson ? "application/x-ndjson" : "text/event-stream",
      "x-streamweir-protocol": protocol ?? null,
      "last-event-id": lastEventId ?? (isJson ? null : (this.#options.lastEventId ?? null)),
    });
    headers.delete("content-type");
    const url = new URL(runUrl);
    if (lastEventId === null && isJson && sequence >= 0) url.searchParams.set("after", String(sequence));
    const response = await this.#send(url.href, { method: "GET", headers }, true);
    if (!ACCEPTED.includes(response.status)) throw this.#notNow(response);
    this.#read(response);
    this.resumes += 1;
  }

  /** A try to go on was answered, but not with the rest of the run. */
  #notNow(response: Response): StreamRequestError {
    const { status } = response;
    const { requestId: _, ...failure } = failureOfAnswer(status, response.headers.get("retry-after"), "");
    this.close();
    const cause = COMES_BACK.includes(status) ? undefined : new GivenUp();
    return this.failure("request_rejected", { ...failureOf(codeOfStatus(status)), ...failure }, cause);
  }

  #read(response: Response): void {
    if (NO_STREAM.test(response.headers.get("content-type")?.trim() ?? "")) {
      throw this.failure("stream_failed", failureOf("UPSTREAM_INVALID_RESPONSE"));
    }
    if (this.resumes || this.#broken) this.reader.continueWith();
    this.source = sourceOfAnswer(response);
  }

  /** The headers of a request; what leaving and the clocks end is only what the page's own function waits for. */
  #prepared(own: Record<string, string | null>): Promise<Headers> {
    return this.wait(this.#headers(own, true), false);
  }

  async #headers(own: Record<string, string | null>, hasBody: boolean): Promise<Headers> {
    const given = await resolved(this.#options.headers);
    const headers = mergedHeaders({ ...own, "x-request-id": this.#sentId }, given);
    if (!hasBody) headers.delete("content-type");
    return headers;
  }

  async #send(url: string, init: RequestInit, isResuming: boolean): Promise<Response> {
    const { fetch: send = fetch, fetchOptions } = this.#options;
    const controller = new AbortController();
    this.#controller = controller;
    try {
      return await this.wait(
        send(url, { ...fetchOptions, ...init, signal: controller.signal }),
        isResuming,
        !isResuming,
      );
    } catch (error) {
      if (error === LEFT || !(error instanceof Error)) throw error;
      throw this.failure("connection_failed", failureOf("UPSTREAM_UNREACHABLE"), error);
    }
  }

  async #refusal(response: Response): Promise<StreamRequestError> {
    const text = await this.wait(refusalText(response), false, false);
    const { requestId, ...failure } = failureOfAnswer(response.status, response.headers.get("retry-after"), text);
    if (!response.headers.get("x-request-id")) this.reader.requestId = requestId ?? this.reader.requestId;
    return this.failure("request_rejected", failure);
  }
}

/** Asks for a stream. Nothing is sent before its first event is asked for; leaving it closes the connection. */
export const streamRequest = (url: string | URL, options: StreamRequestOptions = {}): StreamRequest =>
  new HttpEventStream(url, options);
