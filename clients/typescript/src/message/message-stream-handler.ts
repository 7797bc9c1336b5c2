import type { EventOf } from "../events/event-types.js";
import { isObject } from "../events/read-event.js";
import type { StreamEvent, WarningEvent } from "../protocol.js";
import { StreamRequestError } from "../request/errors.js";
import { randomId } from "../request/http.js";
import { callSafely } from "../request/report.js";
import { GrowingList } from "./growing-list.js";
import { applyPatch } from "./json-patch.js";
import { MessageParts } from "./message-parts.js";
import type { DataBlock, MessageMetadata, MessageState } from "./message-state.js";
import { MessageTexts } from "./message-texts.js";
import { ToolCalls } from "./tool-calls.js";

export interface MessageStreamHandlerOptions {
  /** Called with the message after each event. */
  onUpdate?: ((message: MessageState) => void) | undefined;
}

/** The time of an event in Unix milliseconds: the upstream's where it gives one. */
const timeOf = ({ metadata }: StreamEvent): number | null => metadata.upstream_time ?? metadata.timestamp ?? null;

/**
 * Folds events, of one stream or of several one after another, into the message that a page shows.
 *
 * The cost of an event does not depend on the events before it: a snapshot is made when it is asked for, and shares its
 * unchanged lists and parts with the last one.
 */
export class MessageStreamHandler {
  readonly #id = randomId("msg_");
  readonly #answer = new MessageTexts();
  readonly #thinking = new MessageTexts();
  readonly #channels = new Map<string, MessageTexts>();
  readonly #calls = new ToolCalls();
  readonly #blocks = new GrowingList<DataBlock>();
  readonly #references = new GrowingList<EventOf<"reference">["data"]>();
  readonly #interactions = new GrowingList<EventOf<"interaction">["data"]>();
  readonly #warnings = new GrowingList<WarningEvent["data"]>();
  readonly #statuses = new GrowingList<EventOf<"status">["data"]>();
  readonly #parts = new MessageParts(this.#id);
  readonly #listeners = new Set<() => void>();
  readonly #onUpdate: ((message: MessageState) => void) | undefined;
  #messageId: string | null = null;
  #metadata: MessageMetadata = { requestId: null, sessionId: null, threadId: null, startTime: null, endTime: null };
  #isStreaming = false;
  /** The terminal error of the last stream, and the last error that it reported at all. */
  #error: EventOf<"error">["data"] | null = null;
  #reported: EventOf<"error">["data"] | null = null;
  #end: EventOf<"session_end">["data"] | null = null;
  #channelTexts: Record<string, string> | null = {};
  #snapshot: MessageState | null = null;

  constructor(options: MessageStreamHandlerOptions = {}) {
    this.#onUpdate = options.onUpdate;
  }

  /** The message as it is. */
  get message(): MessageState {
    return this.getSnapshot();
  }

  /** Calls `listener` after each event; returns a function that ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** The message as it is: the same object until an event changes it. */
  readonly getSnapshot = (): MessageState => {
    this.#snapshot ??= this.#made();
    return this.#snapshot;
  };

  /** Folds one event in. */
  handleEvent(event: StreamEvent): void {
    this.#noteMetadata(event);
    this.#fold(event, timeOf(event));
    this.#changed();
  }

  /** Folds a whole stream in. A `StreamRequestError` is folded in as well, as the failure that it is, and thrown. */
  async consume(events: AsyncIterable<StreamEvent>): Promise<MessageState> {
    try {
      for await (const event of events) this.handleEvent(event);
    } catch (error) {
      if (error instanceof StreamRequestError) this.fail(error);
      throw error;
    } finally {
      this.leave();
    }
    return this.message;
  }

  /** @internal No more events come, though the stream is not over. */
  leave(): void {
    if (!this.#isStreaming) return;
    this.#isStreaming = false;
    this.#changed();
  }

  /** @internal Folds a failure in that no event tells of. */
  fail(failure: StreamRequestError): void {
    const { code, errorType: error_type, message, recoverable, retryAfterMs, reason, requestId } = failure;
    const metadata = { timestamp: Date.now(), ...(requestId !== null && { request_id: requestId }) };
    const again = retryAfterMs !== null && { retry_after_ms: retryAfterMs };
    this.handleEvent({
      type: "error",
      data: { code, error_type, message, recoverable, ...again, terminal: true },
      metadata,
    });
    this.handleEvent({ type: "session_end", data: { status: "error", reason }, metadata });
  }

  #changed(): void {
    this.#snapshot = null;
    if (this.#onUpdate) callSafely(this.#onUpdate, this.message);
    for (const listener of [...this.#listeners]) callSafely(listener);
  }

  #noteMetadata({ type, data, metadata }: StreamEvent): void {
    const start = type === "session_start" ? data : null;
    const known = this.#metadata;
    this.#messageId ??= metadata.message_id ?? null;
    this.#isStreaming = type !== "session_end";
    const next = {
      requestId: (start?.request_id || metadata.request_id) ?? known.requestId,
      sessionId: start?.session_id || metadata.session_id || known.sessionId,
      threadId: metadata.thread_id || known.threadId,
      startTime: known.startTime ?? metadata.timestamp ?? null,
      endTime: this.#isStreaming ? null : (metadata.timestamp ?? null),
    };
    if (JSON.stringify(next) !== JSON.stringify(known)) this.#metadata = next;
  }

  #fold(event: StreamEvent, time: number | null): void {
    switch (event.type) {
      case "session_start":
        return this.#begin();
      case "content":
        this.#addContent(event);
        return this.#parts.addText(event, time);
      case "thinking":
        this.#thinking.append(event.metadata.message_id ?? null, event.data.content);
        return this.#parts.addThinking(event, time);
      case "tool_call_start":
      case "tool_call_progress":
      case "tool_call_end":
        return this.#addCall(event, time);
      case "data":
        return this.#addData(event, time);
      case "reference":
        this.#references.push(event.data);
        return this.#parts.addReference(event, time);
      case "interaction":
        this.#interactions.push(event.data);
        return this.#parts.addInteraction(event, time);
      case "status":
        this.#statuses.push(event.data);
        return this.#parts.addStatus(event, time);
      case "warning":
        return this.#warnings.push(event.data);
      case "error":
        return this.#addError(event.data);
      case "session_end":
        return this.#finish(event.data, time);
    }
  }

  /** A stream begins: open texts and calls of the one before it, if they have no id, are over. */
  #begin(): void {
    this.#error = this.#reported = this.#end = null;
    for (const texts of [this.#answer, this.#thinking, ...this.#channels.values()]) texts.complete(null);
    this.#calls.beginStream();
    this.#parts.beginStream();
  }

  #addContent({ data, metadata }: EventOf<"content">): void {
    const messageId = metadata.message_id ?? null;
    let texts = this.#answer;
    if (data.channel !== undefined) {
      texts = this.#channels.get(data.channel) ?? new MessageTexts();
      this.#channels.set(data.channel, texts);
      this.#channelTexts = null;
    }
    if (data.op === "replace") texts.replace(messageId, data.content);
    else texts.append(messageId, data.content);
    if (!data.is_complete) return;
    texts.complete(messageId);
    if (texts === this.#answer) this.#thinking.complete(messageId);
  }

  #addCall(event: Parameters<ToolCalls["take"]>[0], time: number | null): void {
    const { place, isNew } = this.#calls.take(event, time);
    const call = this.#calls.list.items[place] as MessageState["toolCalls"][number];
    if (isNew) this.#parts.beginCall(call, event.metadata, time);
    else this.#parts.changeCall(place, call);
  }

  #addData({ data, metadata }: EventOf<"data">, time: number | null): void {
    if (data.data_type !== "state_delta") return this.#addBlock(data, metadata, time);
    const blocks = this.#blocks.items;
    let index = blocks.length - 1;
    while (index >= 0 && blocks[index]?.data_type !== "state") index -= 1;
    const before = (blocks[index] ?? { data_type: "state", data: {} }) as DataBlock;
    const after = this.#patched(before, data.data);
    if (!after) return;
    if (index < 0) return this.#addBlock(after, metadata, time);
    this.#blocks.set(index, after);
    this.#parts.changeBlock(index, after, time);
  }

  #addBlock(block: DataBlock, metadata: StreamEvent["metadata"], time: number | null): void {
    this.#blocks.push(block);
    this.#parts.addBlock(block, metadata, time);
  }

  /** The state after a patch; null if the patch does not fit, which changes nothing and is a warning. */
  #patched(before: DataBlock, patch: unknown): DataBlock | null {
    try {
      const data = applyPatch(before.data, patch);
      if (isObject(data)) return { ...before, data } as DataBlock;
    } catch {
      // A patch that does not fit gets the same warning as one whose result is no object.
    }
    const message = "A change of the state could not be applied.";
    this.#warnings.push({ message, message_code: "STATE_DELTA_IGNORED" });
    return null;
  }

  #addError(data: EventOf<"error">["data"]): void {
    this.#reported = data;
    if (data.terminal) this.#error = data;
    else this.#warnings.push({ message: data.message, message_code: data.code });
  }

  #finish(end: EventOf<"session_end">["data"], time: number | null): void {
    this.#end = end;
    if (end.status === "error") this.#error ??= this.#reported;
    if (end.status !== "suspended") {
      for (const place of this.#calls.close(time)) {
        this.#parts.changeCall(place, this.#calls.list.items[place] as MessageState["toolCalls"][number]);
      }
    }
    this.#parts.endStream();
  }

  #made(): MessageState {
    const error = this.#error;
    this.#channelTexts ??= Object.fromEntries([...this.#channels].map(([channel, { text }]) => [channel, text]));
    return {
      id: this.#id,
      messageId: this.#messageId,
      role: "assistant",
      thinkingContent: this.#thinking.text,
      mainContent: this.#answer.text,
      channels: this.#channelTexts,
      toolCalls: this.#calls.list.snapshot(),
      dataBlocks: this.#blocks.snapshot(),
      references: this.#references.snapshot(),
      interactions: this.#interactions.snapshot(),
      warnings: this.#warnings.snapshot(),
      statuses: this.#statuses.snapshot(),
      parts: this.#parts.snapshot(),
      isStreaming: this.#isStreaming,
      hasError: error !== null || this.#end?.status === "error",
      errorCode: error?.code ?? null,
      errorType: error?.error_type ?? null,
      errorMessage: error?.message ?? null,
      recoverable: error?.recoverable ?? null,
      retryAfterMs: error?.retry_after_ms ?? null,
      status: this.#end?.status ?? null,
      reason: this.#end?.reason ?? null,
      summary: this.#end?.summary ?? null,
      metadata: this.#metadata,
    };
  }
}
