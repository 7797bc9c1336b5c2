import { Failure, failure } from "../events/codes.js";
import { fieldsOfAnswer } from "../events/envelope.js";
import { EventReader, fieldsOfError } from "../events/event-reader.js";
import type { EventOf } from "../events/event-types.js";
import type { ErrorCode, StreamEvent } from "../protocol.js";
import { type Body, type BodySource, sourceOfAnswer } from "./body-source.js";
import { type FailureKind, StreamRequestError } from "./errors.js";
import { cancelUrlOf, encodedBody, givenBy, mergedHeaders, randomId, refusalText, runUrlOf } from "./http.js";
import type { ParseOptions, StreamRequestOptions } from "./options.js";
import { type Clock, createPatience, LEFT } from "./patience.js";
import { delayBefore, type Pause, pause } from "./pause.js";
import { callSafely } from "./report.js";

/** A requested stream: its events, and facts of the request. */
export interface StreamRequest extends AsyncIterableIterator<StreamEvent> {
  /** The request id of the answer, else of its events, else the one that was sent. */
  readonly requestId: string | null;
  /** The first answer, once its headers are here. */
  readonly response: Response | null;
  /** The handle of the run, if the stream is resumable. */
  readonly run: string | null;
  /** The address at which the run is read. */
  readonly runUrl: string | null;
  /** How often the stream was resumed after a break. */
  readonly resumes: number;
  next(): Promise<IteratorResult<StreamEvent, undefined>>;
  return(): Promise<IteratorResult<StreamEvent, undefined>>;
  /** Leaves the stream: the run goes on. */
  cancel(): void;
  /** Leaves the stream, and stops its run if the answer has named it. Never rejects. */
  stop(): Promise<void>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Types of media that are no text. */
const NO_STREAM = /^\s*(audio|font|image|video)\//i;
/** Answers to a try to resume after which another try may succeed. */
const COMES_BACK = [429, 502, 503, 504];

/** Throws a failure in place of an exception, which becomes its cause. */
const failing =
  (kind: FailureKind, code: ErrorCode) =>
  (cause: unknown): never => {
    throw failure(kind, code, { cause });
  };

const clock = (left: number | null, reason: "first_event_timeout" | "idle_timeout" | "total_timeout"): Clock => ({
  left: left ?? Infinity,
  thrown: failure("request_timeout", "UPSTREAM_TIMEOUT", { reason }),
});

/**
 * The events of one stream, taken one at a time: nothing is read before it is asked for, and nothing runs meanwhile.
 *
 * `read` is the stream: one pass after another it opens a body if there is none, reads a piece of it, and gives the
 * events. After a break it waits, and the next pass opens another body of the same run. It ends with the last event, a
 * failure, or by leaving.
 *
 * | variable    | set                                       | cleared                           |
 * |-------------|-------------------------------------------|-----------------------------------|
 * | `source`    | when an answer is here                    | by `shut`: a break, the end       |
 * | `response`  | by the first answer                       | never: from then on runs are read |
 * | `broken`    | by the break after an event               | by the next event                 |
 * | `isLeft`    | by `cancel`, `return`, the signal, the end | never: every wait throws `LEFT`  |
 * | `isAborted` | by the signal, if the stream was not left | never: `next` rejects once        |
 */
function openStream(url: string, options: StreamRequestOptions): StreamRequest {
  const { method = "POST", framing, normalize, resume, signal, timeouts = {}, fetch: send = fetch } = options;
  const isGet = method.toUpperCase() === "GET";
  const isJson = framing === "ndjson";
  const { requestId: sentId = randomId("req_") } = options;
  /** The handle that the request brings along, so that it can be sent again. */
  const handle = resume && !isGet ? randomId("run_") : null;
  const reader = new EventReader({ ...options, requestId: sentId });
  const patience = createPatience();
  const { firstEvent = 90_000, idle = 120_000, total = null } = timeouts;
  const firstClock = clock(firstEvent, "first_event_timeout");
  const totalClock = clock(total, "total_timeout");
  const idleClock = () => clock(idle, "idle_timeout");

  let source: BodySource | null = null;
  let controller: AbortController | null = null;
  let rest: Pause | null = null;
  let broken: Failure | null = null;
  let attempt = 0;
  let isLeft = false;
  let isAborted = false;

  /** Closes the connection. */
  const shut = () => {
    controller?.abort();
    source?.close();
    rest?.drop();
    controller = source = rest = null;
  };

  const cancel = () => {
    if (isLeft) return;
    isLeft = true;
    shut();
    signal?.removeEventListener("abort", onAbort);
    patience.interrupt(LEFT);
  };

  const onAbort = () => {
    isAborted = !isLeft;
    cancel();
  };

  const requireHeld = () => {
    if (isLeft) throw LEFT;
  };

  /** Waits for `work`, until the stream is left or a clock runs out. The one of the first event stops with that event. */
  const wait = async <T>(work: Promise<T>, ...clocks: Clock[]): Promise<T> => {
    if (reader.started) firstClock.left = Infinity;
    const result = await patience.wait(work, [totalClock, ...clocks]);
    requireHeld();
    return result;
  };

  const errorOf = (failure: Failure): StreamRequestError =>
    new StreamRequestError({ ...failure, requestId: stream.requestId, status: stream.response?.status ?? null });

  const headersOf = async (own: Record<string, string | null>, hasBody = false): Promise<Headers> => {
    const accept = isJson ? "application/x-ndjson" : "text/event-stream";
    const all = { accept, "x-streamweir-protocol": options.protocol ?? null, "x-request-id": sentId, ...own };
    const headers = mergedHeaders(all, await givenBy(options.headers ?? {}));
    if (!hasBody) headers.delete("content-type");
    return headers;
  };

  const fetched = async (address: string, init: RequestInit) => send(address, { ...options.fetchOptions, ...init });

  /** Sends the request, or after a break asks for the rest of its run. Returns the body of the answer. */
  const ask = async (): Promise<BodySource> => {
    if (rest) await wait(rest.over);
    const isFirst = stream.runUrl === null;
    let place = reader.lastEventId ?? options.lastEventId ?? null;
    let address = url;
    if (stream.runUrl !== null) {
      const run = new URL(stream.runUrl);
      // events of NDJSON have no ids
      if (isJson && reader.lastEventId === null && reader.sequence >= 0) {
        run.searchParams.set("after", String(reader.sequence));
        place = null;
      }
      address = run.href;
    }
    const [sent, type] = encodedBody(isFirst ? options.body : null);
    const own = { "content-type": type, "x-streamweir-run": isFirst ? handle : null, "last-event-id": place };
    const headers = await wait(headersOf(own, isFirst), firstClock);
    if (isFirst) reader.requestId = headers.get("x-request-id");
    requireHeld();
    controller = new AbortController();
    const init = {
      method: isFirst ? method : "GET",
      headers,
      signal: controller.signal,
      ...(sent != null && { body: sent }),
    };
    const answer = fetched(address, init).catch(failing("connection_failed", "UPSTREAM_UNREACHABLE"));
    const response = await wait(answer, isFirst ? firstClock : idleClock());
    const body = sourceOfAnswer(response);
    if (isFirst) stream.response = response;
    if (isFirst && isGet && response.status === 204) cancel();
    else await requireStream(response, body, isFirst);
    if (isFirst) {
      stream.run = response.headers.get("x-streamweir-run");
      stream.runUrl = runUrlOf(response, url);
      callSafely(options.onResponse, response);
    } else {
      reader.continueWith();
      stream.resumes += 1;
    }
    requireHeld();
    return body;
  };

  /** Throws if an answer is no stream. */
  const requireStream = async ({ status, headers }: Response, body: BodySource, isFirst: boolean): Promise<void> => {
    if (status < 200 || status > 202) {
      if (!isFirst && !COMES_BACK.includes(status)) attempt = Infinity;
      const text = isFirst ? await wait(refusalText(body)) : "";
      throw new Failure("request_rejected", fieldsOfAnswer(status, headers.get("retry-after"), text));
    }
    if (NO_STREAM.test(headers.get("content-type") ?? "")) throw failure("stream_failed", "UPSTREAM_INVALID_RESPONSE");
  };

  const canRecover = ({ kind, reason }: Failure): boolean => {
    if (reader.failed) return false;
    if (!stream.response) return handle !== null && kind === "connection_failed";
    if (stream.runUrl === null || (normalize && reader.started && reader.lastEventId === null)) return false;
    if (kind === "request_timeout") return reason === "idle_timeout";
    return kind !== "stream_failed" || broken !== null;
  };

  /** Prepares another try to read on. If there is none left, ends the stream: returns its last events. */
  const breakOff = (error: unknown): StreamEvent[] => {
    shut();
    if (!(error instanceof Failure)) throw error;
    const named = error.retry_after_ms ?? 0;
    const delayMs = canRecover(error) ? delayBefore(++attempt, named, resume) : null;
    if (delayMs === null) return reader.fail(error === totalClock.thrown ? error : (broken ?? error));
    broken ??= error;
    rest = pause(delayMs, named > 0);
    callSafely(options.onReconnect, { attempt, delayMs, error: errorOf(broken) });
    return [];
  };

  /** Reads one piece of the body. Returns its events, which may be none. */
  const advance = async (): Promise<StreamEvent[]> => {
    let events: StreamEvent[] = [];
    try {
      source ??= await ask();
      const piece = source.read().catch(failing("stream_truncated", "UPSTREAM_TRUNCATED"));
      const { done, value = "" } = await wait(piece, firstClock, idleClock());
      events = done ? reader.flush() : reader.feed(value);
      if (done && !reader.ended) throw reader.missing;
    } catch (error) {
      events.push(...breakOff(error));
    }
    if (reader.ended) shut();
    return events;
  };

  /** Notes an event before it is given. Throws in place of a terminal error. */
  const note = (event: StreamEvent, end: StreamEvent | undefined) => {
    if (event.type === "error" && event.data.terminal && options.throwErrors !== false) {
      throw errorOf(reader.failure ?? reportedFailure(event, end));
    }
    attempt = 0;
    broken = null;
    if (event.type === "warning") callSafely(options.onWarning, event.data);
    if (event.type === "session_end") cancel();
  };

  async function* read(): AsyncGenerator<StreamEvent, undefined> {
    try {
      if (signal?.aborted) onAbort();
      requireHeld();
      signal?.addEventListener("abort", onAbort);
      while (!reader.ended) {
        const events = await advance();
        for (const event of events) {
          requireHeld();
          note(event, events.at(-1));
          yield event;
        }
      }
    } catch (error) {
      if (error !== LEFT) throw error;
      if (isAborted) throw signal?.reason;
    } finally {
      cancel();
      shut();
    }
  }

  const events = read();
  const stream: Mutable<StreamRequest> = {
    get requestId() {
      return stream.response?.headers.get("x-request-id") ?? reader.requestId;
    },
    response: null,
    run: null,
    runUrl: null,
    resumes: 0,
    next: () => events.next(),
    return: () => {
      cancel();
      return events.return(undefined);
    },
    cancel,
    stop: async () => {
      const address = reader.ended && !reader.failed ? null : stream.runUrl;
      cancel();
      if (address === null) return;
      try {
        const headers = await headersOf({ accept: "application/json" });
        const answer = await fetched(cancelUrlOf(address), { method: "POST", headers, keepalive: true });
        await answer.body?.cancel();
      } catch {
        // a run that is not read ends by itself
      }
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** The failure of the stream's own terminal error, with the reason of its `session_end` if that was read with it. */
function reportedFailure({ data }: EventOf<"error">, end: StreamEvent | undefined): Failure {
  const fields = fieldsOfError(data);
  return new Failure("stream_failed", end?.type === "session_end" ? { ...fields, reason: end.data.reason } : fields);
}

/** Asks for a stream. Nothing is sent before its first event is asked for; leaving it closes the connection. */
export const streamRequest = (url: string | URL, options: StreamRequestOptions = {}): StreamRequest =>
  openStream(String(url), options);

/** The events of a body that is there already: of a `Response`, of a file, of a test. */
export function parseStream(body: Body, options: ParseOptions = {}): AsyncIterableIterator<StreamEvent> {
  const answer = { headers: new Headers(), body } as Response;
  return openStream("", { ...options, requestId: options.requestId ?? null, fetch: async () => answer });
}
