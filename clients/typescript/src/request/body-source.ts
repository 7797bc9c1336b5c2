/** What a body is read from. */
export type Body =
  | ReadableStream<Uint8Array | string>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** The pieces of a body, one at a time. */
export interface BodySource {
  /** The next piece; null where the body has ended. */
  read(): Promise<Uint8Array | string | null>;
  /** Leaves the body; does not wait, and does not fail. */
  close(): void;
}

const ignore = () => {};

/** Reads a stream by its reader: not every browser can iterate one. */
export function sourceOf(body: Body): BodySource {
  return "getReader" in body ? readerSource(body.getReader() as Reader) : iteratorSource(body[Symbol.asyncIterator]());
}

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | string | undefined }>;
  cancel(): Promise<void>;
}

function readerSource(reader: Reader): BodySource {
  return {
    read: async () => {
      const { done, value } = await reader.read();
      return done ? null : (value ?? "");
    },
    close: () => void reader.cancel().catch(ignore),
  };
}

function iteratorSource(iterator: AsyncIterator<Uint8Array | string>): BodySource {
  return {
    read: async () => {
      const { done, value } = await iterator.next();
      return done ? null : value;
    },
    close: () => void iterator.return?.()?.then(ignore, ignore),
  };
}

/** The body of an answer; where `fetch` does not stream (React Native), the whole of it as one piece. */
export function sourceOfAnswer(response: Response): BodySource {
  if (response.body) return sourceOf(response.body as Body);
  let whole: Promise<string> | null = null;
  return {
    read: () => {
      if (whole) return Promise.resolve(null);
      whole = response.text();
      return whole;
    },
    close: ignore,
  };
}
