import type { EventOf } from "../events/event-types.js";
import { GrowingList } from "./growing-list.js";
import type { ToolCall } from "./message-state.js";

type CallEvent = EventOf<"tool_call_start"> | EventOf<"tool_call_progress"> | EventOf<"tool_call_end">;

/** The name of a call whose start has not come. */
const UNNAMED = "unknown";

/** The calls of a message, by their events. A call that changes is another object. */
export class ToolCalls {
  readonly list = new GrowingList<ToolCall>();
  #placeById = new Map<string, number>();

  /** Takes an event in at `time`; returns the place of its call, and whether that has begun with it. */
  take(event: CallEvent, time: number | null): { place: number; isNew: boolean } {
    const { tool_id } = event.data;
    const known = this.#placeById.get(tool_id) ?? -1;
    const call = this.list.items[known];
    if (call && (this.#isOpen(known) || event.type !== "tool_call_start")) {
      this.list.set(known, after(call, event, time));
      return { place: known, isNew: false };
    }
    const place = this.list.items.length;
    this.#placeById.set(tool_id, place);
    this.list.push(after(begun(tool_id, time), event, time));
    return { place, isNew: true };
  }

  /** A stream begins: calls that are over are not meant by its events. */
  beginStream(): void {
    for (const [id, place] of this.#placeById) if (!this.#isOpen(place)) this.#placeById.delete(id);
  }

  /** The stream is over: calls that still run have failed. Returns their places. */
  close(time: number | null): number[] {
    const open = [...this.#placeById.values()].filter((place) => this.#isOpen(place));
    const error = { code: "TOOL_INCOMPLETE", message: "The tool did not finish." } as const;
    for (const place of open) {
      this.list.set(place, { ...(this.list.items[place] as ToolCall), status: "failed", error, end_time: time });
    }
    return open;
  }

  #isOpen(place: number): boolean {
    return this.list.items[place]?.status === "running";
  }
}

const begun = (tool_id: string, start_time: number | null): ToolCall => ({
  tool_id,
  tool_name: UNNAMED,
  description: null,
  arguments: {},
  status: "running",
  progress: null,
  progress_message: null,
  result: null,
  error: null,
  duration_ms: null,
  start_time,
  end_time: null,
});

/** The call after one more event. A start that was made up when a run was resumed knows less than the call. */
function after(call: ToolCall, event: CallEvent, time: number | null): ToolCall {
  switch (event.type) {
    case "tool_call_start": {
      const { tool_name, description, arguments: given } = event.data;
      return {
        ...call,
        tool_name: tool_name === UNNAMED ? call.tool_name : tool_name,
        description: description || call.description,
        arguments: Object.keys(given).length ? given : call.arguments,
      };
    }
    case "tool_call_progress":
      return {
        ...call,
        progress: event.data.progress ?? call.progress,
        progress_message: event.data.message || call.progress_message,
      };
    case "tool_call_end":
      return {
        ...call,
        status: event.data.status,
        result: event.data.result ?? null,
        error: event.data.error ?? null,
        duration_ms: event.metadata.duration_ms ?? null,
        end_time: time,
      };
  }
}
