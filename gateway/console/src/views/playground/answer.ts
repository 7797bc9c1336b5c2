// The answer to one request: its bytes as they come, and its events, which the console reads from the same bytes.

import { readEvent } from "../../../../../clients/typescript/src/events/read-event.js";
import { type MessageState, MessageStreamHandler } from "../../../../../clients/typescript/src/index.js";
import { ApiError, explain, request } from "../../data/api.js";
import { Changes } from "../../data/changes.js";
import { SseFrames } from "../../data/sse-frames.js";
import type { Call } from "./call.js";
import { eventsOfFolded } from "./folded-answer.js";

/** The most characters of the raw answer that are shown: its first and its last part. */
const MAX_SHOWN = 200_000;
const READY_MS = 5_000;

/** Returns a request id by which the request and its events find each other. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `play_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * | state | meaning | left when |
 * |---|---|---|
 * | asking | the request is sent | the status is there: answering; a failure: ended |
 * | answering | bytes come | the body ends or breaks off, or `stop()`: ended |
 * | ended | `problem` says what went wrong on the way, if anything did | |
 */
export class Answer extends Changes {
  readonly requestId: string;
  state: "asking" | "answering" | "ended" = "asking";
  status: number | null = null;
  contentType = "";
  /** The code of a refusal. */
  code = "";
  problem = "";
  bytes = 0;
  /** The interactions that the run waits for, once it has ended. */
  open: MessageState["interactions"] = [];
  readonly #handler = new MessageStreamHandler();
  readonly #call: Call;
  readonly #connection = new AbortController();
  /** Events of one JSON document, until it is known whether the document is the protocol's own. */
  readonly #held: unknown[] = [];
  /** Characters of the raw answer; the first and the last ones are kept. */
  #length = 0;
  #head = "";
  #tail = "";
  #isFolded = false;

  constructor(call: Call, requestId: string) {
    super();
    this.#call = call;
    this.requestId = requestId;
  }

  get message(): MessageState {
    return this.#handler.message;
  }

  /** The raw answer, without its middle if it is long. */
  get raw(): string {
    const hidden = this.#hiddenCharacters();
    return hidden ? `${this.#head}\n[… ${hidden} characters …]\n${this.#tail}` : this.#head + this.#tail;
  }

  /** One JSON document in place of a stream; undefined: it is a stream. */
  get folded(): unknown {
    if (!this.#isFolded || this.#hiddenCharacters()) return undefined;
    try {
      return JSON.parse(this.#head + this.#tail);
    } catch {
      return undefined;
    }
  }

  stop(): void {
    this.#connection.abort();
  }

  /** Sends the request and reads the answer to its end. */
  async run(): Promise<void> {
    const events = this.#readEvents();
    await Promise.race([events.ready, new Promise((resolve) => setTimeout(resolve, READY_MS))]);
    try {
      await this.#read();
    } catch (error) {
      this.problem = this.#connection.signal.aborted ? "Stopped." : explainBreak(error, this.status);
    }
    if (this.status === null) this.#connection.abort();
    await Promise.race([events.done, new Promise((resolve) => setTimeout(resolve, READY_MS))]);
    this.#take(eventsOfFolded(this.folded) ?? this.#held);
    this.#connection.abort();
    this.open = this.message.interactions.filter(({ state }) => state === "requested");
    this.state = "ended";
    this.notify();
  }

  async #read(): Promise<void> {
    const { signal } = this.#connection;
    const body = JSON.stringify(this.#call);
    const headers = { "Content-Type": "application/json" };
    const response = await request("playground", { method: "POST", body, headers, signal });
    this.status = response.status;
    this.contentType = response.headers.get("content-type") ?? "";
    this.#isFolded = /json\b/.test(this.contentType) && !/ndjson|jsonl/.test(this.contentType);
    this.state = "answering";
    this.notify();
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) break;
      this.bytes += piece.value.length;
      this.#add(decoder.decode(piece.value, { stream: true }));
      this.notify();
    }
    this.#add(decoder.decode());
    if (response.status >= 400) this.#readRefusal();
  }

  #readRefusal(): void {
    const error = (this.folded as { error?: { code?: unknown; type?: unknown; message?: unknown } } | undefined)?.error;
    this.code = String(error?.code ?? error?.type ?? "");
    if (typeof error?.message === "string") this.problem = error.message;
  }

  #add(text: string): void {
    const room = MAX_SHOWN / 2 - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(Math.max(0, room));
    if (this.#tail.length > MAX_SHOWN) this.#tail = this.#tail.slice(-MAX_SHOWN / 2);
    this.#length += text.length;
  }

  #take(messages: readonly unknown[]): void {
    for (const message of messages) {
      const event = readEvent(message);
      if (event) this.#handler.handleEvent(event);
    }
  }

  #hiddenCharacters(): number {
    return this.#length - this.#head.length - this.#tail.length;
  }

  /** Follows the events of the answer. `ready`: the console expects the answer; `done`: it has ended. */
  #readEvents(): { ready: Promise<void>; done: Promise<void> } {
    let isReady = () => {};
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    const query = new URLSearchParams({ request_id: this.requestId, protocol: this.#call.protocol });
    const done = (async () => {
      try {
        const response = await request(`playground/events?${query}`, { signal: this.#connection.signal });
        const frames = new SseFrames();
        const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const piece = await pieces?.read();
          if (piece === undefined || piece.done) return;
          isReady();
          const events = frames.push(piece.value).map(({ data }) => JSON.parse(data) as unknown);
          if (this.#call.framing === "json") this.#held.push(...events);
          else this.#take(events);
          this.notify();
        }
      } catch {
        // Without events the raw answer is shown alone.
      } finally {
        isReady();
      }
    })();
    return { ready, done };
  }
}

function explainBreak(error: unknown, status: number | null): string {
  if (error instanceof ApiError) return explain(error);
  return status === null ? explain(error) : "The connection broke off within the answer.";
}
