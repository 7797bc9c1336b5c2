export { createAgentStream } from "./conversation/agent-stream.js";
export type {
  AgentStream,
  AgentStreamOptions,
  AgentStreamState,
  AnswerAction,
  DefaultInput,
  InteractionAnswer,
  Message,
  StreamStatus,
  Turn,
  UserMessage,
} from "./conversation/conversation-types.js";
export type { Code, ErrorType, Reason } from "./events/codes.js";
export type { Normalizer } from "./events/event-reader.js";
export { EventReader, type EventReaderOptions } from "./events/event-reader.js";
export type { DataOf, EventOf, EventType } from "./events/event-types.js";
export { parseStreamLine } from "./events/parse-stream-line.js";
export type { FormField } from "./form/form-field.js";
export { type FormModel, formModel } from "./form/form-model.js";
export type * from "./message/message-state.js";
export { MessageStreamHandler, type MessageStreamHandlerOptions } from "./message/message-stream-handler.js";
export type {
  Citation,
  CustomData,
  DataframeData,
  ErrorCode,
  EventMetadata,
  FileData,
  PatchOperation,
  Question,
  StreamEvent,
  Summary,
  ToolError,
  UnknownEvent,
} from "./protocol.js";
export type { Body } from "./request/body-source.js";
export { type FailureKind, StreamRequestError, type StreamRequestErrorInit } from "./request/errors.js";

export type { FetchOptions, HeadersLike, HeadersSource } from "./request/http.js";
export type { ParseOptions, Reconnect, StreamRequestOptions, Timeouts } from "./request/options.js";
export type { ResumeOptions } from "./request/pause.js";
export { parseStream, type StreamRequest, streamRequest } from "./request/stream-request.js";
