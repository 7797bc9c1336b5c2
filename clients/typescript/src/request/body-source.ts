/** What a body is read from. */
export type Body =
  | ReadableStream<Uint8Array | string>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** The pieces of a body, one at a time, and leaving it, which neither waits nor fails. */
export interface BodySource {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | string | undefined }>;
  close(): Promise<unknown> | undefined;
}

/** Reads a stream by its reader: not every browser can iterate one. */
export function sourceOf(body: Body): BodySource {
  if ("getReader" in body) {
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    return { read: () => reader.read(), close: () => reader.cancel() };
  }
  const iterator = body[Symbol.asyncIterator]();
  return { read: () => iterator.next() as ReturnType<BodySource["read"]>, close: () => iterator.return?.() };
}

/** The body of an answer; where `fetch` does not stream (React Native), the whole of it as one piece. */
export function sourceOfAnswer(response: Response): BodySource {
  if (response.body) return sourceOf(response.body as Body);
  let done = false;
  return {
    read: async () => {
      const value = done ? "" : await response.text();
      const isOver = done;
      done = true;
      return { done: isOver, value };
    },
    close: () => undefined,
  };
}
