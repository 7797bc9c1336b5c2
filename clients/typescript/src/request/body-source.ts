/** A body that can be read. */
export type Body =
  | ReadableStream<Uint8Array | string>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** The pieces of a body, one at a time. `close` leaves it: it does not wait, and its failure is ignored. */
export interface BodySource {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | string | undefined }>;
  close(): void;
}

/** Reads a stream by its reader, because not every browser can iterate one. */
export function sourceOf(body: Body): BodySource {
  if ("getReader" in body) {
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    return { read: () => reader.read(), close: () => void reader.cancel().catch(() => {}) };
  }
  const iterator = body[Symbol.asyncIterator]();
  return {
    read: () => iterator.next() as ReturnType<BodySource["read"]>,
    close: () => void iterator.return?.().catch(() => {}),
  };
}

async function* wholeText(response: Response): AsyncGenerator<string> {
  yield await response.text();
}

/** The body of an answer; if `fetch` does not stream (React Native), the whole of it is one piece. */
export const sourceOfAnswer = (response: Response): BodySource => sourceOf(response.body ?? wholeText(response));
