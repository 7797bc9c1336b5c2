import { parseRetryAfter } from "../events/retry-after.js";
import { createPatience, LEFT } from "../request/patience.js";
import { delayBefore, pause, type ResumeOptions } from "../request/pause.js";
import { type Block, BlockCutter, isTerminal } from "./block-cutter.js";

/** Options of a body that follows a run. */
export interface RunBodyOptions {
  response: Response;
  runUrl: string;
  /** Asks for the rest of the run, behind the last event that is here. */
  reopen: (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;
  resume: boolean | ResumeOptions | undefined;
  signal: AbortSignal | null;
  /** The signal has left the stream. */
  onAbort: () => void;
  /** The run is over, or gone: there is nothing more to be read of it. */
  onOver: () => void;
}

const COMES_BACK = [429, 502, 503, 504];
/** The milliseconds for which bytes behind the end of a stream are waited for. */
const REST = 1000;

/**
 * The body of an answer that names its run, in whole blocks: read on behind the last one where it breaks off.
 *
 * | state  | set by                                      | the reader gets                |
 * |--------|---------------------------------------------|--------------------------------|
 * | open   | construction                                | blocks                         |
 * | ending | a terminal block                            | later blocks, for a second     |
 * | closed | the end of the run, a failure, leaving      | the end, or the failure        |
 */
export function runBody(options: RunBodyOptions): ReadableStream<Uint8Array> {
  const { signal } = options;
  const patience = createPatience();
  /** Aborts the requests for the rest of the run. */
  const requests = new AbortController();
  let reader = readerOf(options.response);
  let cutter = new BlockCutter();
  let lastEventId: string | null = null;
  let hasGiven = false;
  let isEnding = false;
  let isClosed = false;
  let attempt = 0;

  const onAbort = () => {
    if (isClosed) return;
    options.onAbort();
    close();
    patience.interrupt(LEFT);
  };
  const close = () => {
    isClosed = true;
    requests.abort();
    signal?.removeEventListener("abort", onAbort);
    void reader?.cancel().catch(() => {});
  };
  const end = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    close();
    options.onOver();
    controller.close();
  };
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();

  /** Reads once; the blocks that came, null if the body has ended. Throws if it broke off. */
  const read = async (): Promise<Block[] | null> => {
    const next: Promise<{ done: boolean; value?: Uint8Array | undefined }> =
      reader?.read() ?? Promise.resolve({ done: true });
    const { done, value } = await patience.wait(next, isEnding ? [{ left: REST, thrown: REST }] : []);
    if (!done) return cutter.feed(value as Uint8Array);
    const last = cutter.finish();
    return last && isWholeData(last.data) ? [{ ...last, bytes: withBlankLine(last.bytes) }] : null;
  };

  /** Reads on after a break. False if the run has no more events; throws `failure` if all tries have failed. */
  const recover = async (failure: unknown): Promise<boolean> => {
    if (hasGiven && lastEventId === null) throw failure;
    let named = 0;
    for (;;) {
      if (isClosed) throw LEFT;
      const delay = delayBefore(++attempt, named, options.resume);
      if (delay === null) throw failure;
      const rest = pause(delay, named > 0);
      await patience.wait(rest.over).finally(rest.drop);
      const answer = await patience.wait(options.reopen(lastEventId, requests.signal).catch(() => null));
      if (answer?.ok && answer.status !== 204) {
        reader = readerOf(answer);
        cutter = new BlockCutter();
        return true;
      }
      void answer?.body?.cancel().catch(() => {});
      if (answer?.status === 204) return false;
      if (answer && !COMES_BACK.includes(answer.status)) {
        options.onOver();
        break;
      }
      named = parseRetryAfter(answer?.headers.get("retry-after") ?? null) ?? 0;
    }
    throw failure;
  };

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (;;) {
      if (isClosed) return fail(controller, signal?.reason);
      let blocks: Block[] | null = null;
      let failure: unknown = new TypeError("network error: the answer broke off");
      try {
        blocks = await read();
      } catch (error) {
        if (error === LEFT) return fail(controller, signal?.reason);
        failure = error;
      }
      if (blocks?.length) return give(controller, blocks);
      if (blocks) continue;
      if (isEnding) return end(controller);
      try {
        if (!(await recover(failure))) return end(controller);
      } catch (error) {
        return fail(controller, error === LEFT ? signal?.reason : error);
      }
    }
  };

  const give = (controller: ReadableStreamDefaultController<Uint8Array>, blocks: Block[]) => {
    attempt = 0;
    for (const { bytes, id, data } of blocks) {
      lastEventId = id ?? lastEventId;
      hasGiven ||= data !== "";
      isEnding ||= isTerminal(data);
      controller.enqueue(bytes);
    }
    if (blocks.some(({ data }) => data.trim() === "[DONE]")) end(controller);
  };

  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, error: unknown) => {
    if (!isClosed) close();
    controller.error(error);
  };

  return new ReadableStream<Uint8Array>(
    {
      pull,
      cancel: () => {
        close();
        patience.interrupt(LEFT);
      },
    },
    { highWaterMark: 0 },
  );
}

const readerOf = (response: Response) => response.body?.getReader() ?? null;

function isWholeData(data: string): boolean {
  if (data.trim() === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** A last block with the line ends that it lacks. */
function withBlankLine(bytes: Uint8Array): Uint8Array {
  const missing = [10, 13].includes(bytes[bytes.length - 1] as number) ? 1 : 2;
  const ended = new Uint8Array(bytes.length + missing);
  ended.set(bytes);
  ended.fill(10, bytes.length);
  return ended;
}
