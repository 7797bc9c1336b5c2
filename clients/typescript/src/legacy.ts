export type { Normalizer } from "./events/event-reader.js";
export { createNormalizer, type NormalizerOptions, normalizeStreamEvent } from "./legacy/normalizer.js";
export {
  type ChatStreamEvent,
  type ContentEventData,
  type ErrorEventData,
  type StreamEventEnvelope,
  type ToolEndEventData,
  type ToolStartEventData,
  toEnvelope,
} from "./legacy/to-envelope.js";
export {
  type AdapterResult,
  type EventAdapterContext,
  type ExecutionStep,
  toExecutionStep,
} from "./legacy/to-execution-step.js";
