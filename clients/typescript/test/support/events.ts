import type { StreamEvent } from "../../src/index.js";

/** An event as it stands on the wire. */
export const wire = (type: string, data: object, sequence: number, metadata: object = {}): Record<string, unknown> => ({
  type,
  data,
  metadata: { request_id: "req_1", timestamp: 1_790_000_000_000 + sequence, sequence, ...metadata },
});

export const sse = (event: object, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;

export const line = (event: object): string => `${JSON.stringify(event)}\n`;

export const START = wire("session_start", { session_id: "s", request_id: "req_1", protocol: "1.1" }, 0);
export const END = (sequence: number): Record<string, unknown> =>
  wire("session_end", { status: "completed", reason: "done" }, sequence);
export const text = (content: string, sequence: number): Record<string, unknown> =>
  wire("content", { content }, sequence);

/** A whole answer: so many words between its start and its end. */
export const answer = (...words: string[]): Record<string, unknown>[] => [
  START,
  ...words.map((word, index) => text(word, index + 1)),
  END(words.length + 1),
];

export const RUN = `run_${"a".repeat(32)}`;
export const RUN_HEADERS = { "X-Streamweir-Run": RUN, "Content-Location": `/-/runs/${RUN}` };

/** The text of the answer. */
export const textIn = (events: StreamEvent[]): string =>
  events.map((event) => (event.type === "content" ? event.data.content : "")).join("");

export async function all(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
