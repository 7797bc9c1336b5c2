// Written by scripts/types.mjs from middleware/streamweir/protocol.schema.json: do not edit.

/** The metadata of every event: its stream, and its place in the run. */
export interface EventMetadata {
  duration_ms?: number;
  extra?: Record<string, unknown>;
  message_id?: string;
  node_id?: string;
  node_name?: string;
  parent_run_id?: string;
  request_id?: string;
  run_id?: string;
  sequence?: number;
  session_id?: string;
  source?: Record<string, unknown>;
  thread_id?: string;
  timestamp?: number;
  upstream_time?: number;
}

/** Why a tool call failed. */
export interface ToolError {
  code: ErrorCode | (string & {});
  message: string;
}

/** One source of the answer. */
export interface Citation {
  document_id?: string;
  id?: string;
  score?: number;
  snippet?: string;
  title?: string;
  url?: string;
}

/** One question to a person. */
export interface Question {
  option_codes?: (string | null)[];
  options?: unknown[];
  required?: boolean;
  response_type: "free_text" | "single_choice";
  text: string;
  text_code?: string;
  text_params?: Record<string, unknown>;
}

/** The totals of a stream. */
export interface Summary {
  completion_tokens?: number;
  duration_ms: number;
  events: number;
  finish_reason?: "content_filter" | "length" | "stop" | "tool_calls";
  prompt_tokens?: number;
  tool_calls: number;
  total_tokens?: number;
}

/** A table. */
export interface DataframeData {
  columns: unknown[];
  name: string;
  rows: unknown[][];
}

/** An image, a sound or any other file: its URL, or its bytes. */
export interface FileData {
  base64?: string;
  file_id?: string;
  media_type?: string;
  name?: string;
  url?: string;
}

/** One operation of a JSON Patch (RFC 6902). */
export interface PatchOperation {
  op: "add" | "copy" | "move" | "remove" | "replace" | "test";
  path: string;
}

/** An upstream's own event. */
export interface CustomData {
  name: string;
  value: unknown;
}

/** The protocol's own codes. */
export type ErrorCode =
  | "AUTH_FAILED"
  | "BAD_REQUEST"
  | "CANCELLED"
  | "CONTENT_FILTERED"
  | "CONTEXT_LENGTH_EXCEEDED"
  | "ENDPOINT_NOT_FOUND"
  | "FORBIDDEN"
  | "GATEWAY_DRAINING"
  | "INTERNAL"
  | "LOOP_DETECTED"
  | "METHOD_NOT_ALLOWED"
  | "MODEL_NOT_FOUND"
  | "NOT_FOUND"
  | "OVERLOADED"
  | "QUOTA_EXCEEDED"
  | "RATE_LIMITED"
  | "REQUEST_TOO_LARGE"
  | "RUN_EXISTS"
  | "RUN_GONE"
  | "RUN_LOST"
  | "RUN_NOT_FOUND"
  | "STORE_UNAVAILABLE"
  | "STREAM_LIMIT_EXCEEDED"
  | "TOOL_FAILED"
  | "TOOL_INCOMPLETE"
  | "UNAUTHENTICATED"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UPSTREAM_ERROR"
  | "UPSTREAM_INVALID_RESPONSE"
  | "UPSTREAM_REJECTED"
  | "UPSTREAM_TIMEOUT"
  | "UPSTREAM_TRUNCATED"
  | "UPSTREAM_UNREACHABLE"
  | "WEBSOCKET_UNSUPPORTED";

/** The stream begins. */
export interface SessionStartEvent {
  type: "session_start";
  data: {
    session_id: string;
    request_id: string;
    protocol: string;
  };
  metadata: EventMetadata;
}

/** A piece of the model's reasoning. */
export interface ThinkingEvent {
  type: "thinking";
  data: {
    content: string;
    stage?: "analyzing" | "planning" | "reasoning";
    opaque?: Record<string, Record<string, unknown>>;
  };
  metadata: EventMetadata;
}

/** A tool is called, with its complete arguments. */
export interface ToolCallStartEvent {
  type: "tool_call_start";
  data: {
    tool_id: string;
    tool_name: string;
    description?: string;
    arguments: Record<string, unknown>;
    opaque?: Record<string, Record<string, unknown>>;
  };
  metadata: EventMetadata;
}

/** A piece of the JSON text of a call's arguments; a `ToolCallStart` with all arguments follows. */
export interface ToolCallDeltaEvent {
  type: "tool_call_delta";
  data: {
    tool_id: string;
    tool_name?: string;
    arguments_delta: string;
  };
  metadata: EventMetadata;
}

/** The progress of a running call: 0..1, or null if only the message is known. */
export interface ToolCallProgressEvent {
  type: "tool_call_progress";
  data: {
    tool_id: string;
    progress: number | null;
    message?: string;
  };
  metadata: EventMetadata;
}

/** A call has ended. */
export interface ToolCallEndEvent {
  type: "tool_call_end";
  data: {
    tool_id: string;
    status: "failed" | "success";
    result?: unknown;
    error?: ToolError;
  };
  metadata: EventMetadata;
}

/** A piece of the answer, or of another channel. */
export interface ContentEvent {
  type: "content";
  data: {
    content: string;
    format?: "html" | "markdown" | "text";
    is_complete?: true;
    op?: "append" | "replace";
    channel?: string;
    opaque?: Record<string, Record<string, unknown>>;
  };
  metadata: EventMetadata;
}

/** Structured data: a table, a chart, a file, a state, or an upstream's event (`custom`: name, value). */
export interface DataEvent {
  type: "data";
  data: 
    | {
      data_type: "dataframe";
      data: DataframeData;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "chart";
      data: Record<string, unknown>;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "image";
      data: FileData;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "audio";
      data: FileData;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "file";
      data: FileData;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "state";
      data: Record<string, unknown>;
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "state_delta";
      data: PatchOperation[];
      metadata?: Record<string, unknown>;
    }
    | {
      data_type: "custom";
      data: CustomData;
      metadata?: Record<string, unknown>;
    };
  metadata: EventMetadata;
}

/** The sources of the answer; each citation has some of id, title, url, snippet, document_id, score. */
export interface ReferenceEvent {
  type: "reference";
  data: {
    citations: Citation[];
  };
  metadata: EventMetadata;
}

/** A step of the run changes its state. */
export interface StatusEvent {
  type: "status";
  data: {
    scope: "model" | "node" | "phase" | "queue" | "session" | "skill" | "workflow";
    state: "connected" | "failed" | "finished" | "resumed" | "running" | "started" | "suspended";
    name?: string;
    detail?: unknown;
  };
  metadata: EventMetadata;
}

/** A problem that does not end the run. */
export interface WarningEvent {
  type: "warning";
  data: {
    message: string;
    message_code?: string;
    message_params?: Record<string, unknown>;
    detail?: unknown;
  };
  metadata: EventMetadata;
}

/** A person, or the client, is asked for an answer. */
export interface InteractionEvent {
  type: "interaction";
  data: {
    interaction_id: string;
    kind: "approval" | "continue" | "form" | "handoff" | "questions" | "tool";
    state: "cancelled" | "requested" | "resolved";
    title?: string;
    description?: string;
    schema?: Record<string, unknown>;
    ui?: Record<string, unknown>;
    questions?: Question[];
    resume?: Record<string, unknown>;
  };
  metadata: EventMetadata;
}

/** The run failed (`terminal`), or a part of it failed and the run continues. */
export interface ErrorEvent {
  type: "error";
  data: {
    error_type: "execution" | "system" | "timeout" | "validation";
    code: ErrorCode | (string & {});
    message: string;
    recoverable: boolean;
    message_code?: string;
    message_params?: Record<string, unknown>;
    terminal: boolean;
    retry_after_ms?: number;
    details?: unknown;
  };
  metadata: EventMetadata;
}

/** The stream is over. */
export interface SessionEndEvent {
  type: "session_end";
  data: {
    status: "cancelled" | "completed" | "error" | "suspended";
    reason: "cancelled" | "client_gone" | "connect_timeout" | "done" | "draining" | "first_event_timeout" | "idle_timeout" | "interaction" | "internal" | "limit" | "lost" | "malformed" | "slow_client" | "total_timeout" | "truncated" | "upstream_error" | "upstream_unreachable";
    summary?: Summary;
  };
  metadata: EventMetadata;
}

/** An event that this version of the protocol does not know, or whose data does not fit its type. */
export interface UnknownEvent {
  type: "unknown";
  data: { type: string; data: unknown };
  metadata: EventMetadata;
}

/** One event of a stream; `type` says which. */
export type StreamEvent =
  | SessionStartEvent
  | ThinkingEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallProgressEvent
  | ToolCallEndEvent
  | ContentEvent
  | DataEvent
  | ReferenceEvent
  | StatusEvent
  | WarningEvent
  | InteractionEvent
  | ErrorEvent
  | SessionEndEvent
  | UnknownEvent;
