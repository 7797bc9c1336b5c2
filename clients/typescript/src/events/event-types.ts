import type { StreamEvent } from "../protocol.js";

/** The types of events; `unknown` is the type of events that this version does not know. */
export type EventType = StreamEvent["type"];

/** The event of one type: `EventOf<"content">`. */
export type EventOf<T extends EventType> = Extract<StreamEvent, { type: T }>;

/** The data of one type: `DataOf<"content">`. */
export type DataOf<T extends EventType> = EventOf<T>["data"];
