import type { Code, ErrorType, Reason } from "../events/codes.js";
import type { DataOf } from "../events/event-types.js";
import type { ToolError } from "../protocol.js";

/** One call of a tool, with the fields that have come so far; names as on the wire, times in milliseconds. */
export interface ToolCall {
  tool_id: string;
  tool_name: string;
  description: string | null;
  arguments: Record<string, unknown>;
  status: "running" | "success" | "failed";
  /** 0 to 1. */
  progress: number | null;
  progress_message: string | null;
  result: unknown;
  error: ToolError | null;
  duration_ms: number | null;
  start_time: number | null;
  end_time: number | null;
}

/** A table, a chart, a file, a state with its changes applied, or an upstream's own data. */
export type DataBlock = Exclude<DataOf<"data">, { data_type: "state_delta" }>;

interface PartBase {
  /** For keys: it stays while the part grows. */
  id: string;
  messageId: string | null;
  runId: string | null;
  nodeId: string | null;
  nodeName: string | null;
  startTime: number | null;
  /** When it was over; of a text the time of its last piece, once no piece can join it. */
  endTime: number | null;
}

/** Text of the answer, or of another channel. */
export interface TextPart extends PartBase {
  type: "text";
  text: string;
  /** Null: the answer. */
  channel: string | null;
  format: NonNullable<DataOf<"content">["format"]> | null;
  /** Its message is complete. */
  isComplete: boolean;
}

export interface ThinkingPart extends PartBase {
  type: "thinking";
  text: string;
  stage: NonNullable<DataOf<"thinking">["stage"]> | null;
}

export interface ToolPart extends PartBase {
  type: "tool";
  call: ToolCall;
}

/** A step of the run by its last event. */
export interface StatusPart extends PartBase {
  type: "status";
  status: DataOf<"status">;
}

/** A question to a person, or to the page, by its last event. */
export interface InteractionPart extends PartBase {
  type: "interaction";
  interaction: DataOf<"interaction">;
}

export interface DataPart extends PartBase {
  type: "data";
  block: DataBlock;
}

export interface ReferencePart extends PartBase {
  type: "reference";
  reference: DataOf<"reference">;
}

/** One thing that happened. The list of them is the order in which a chat is drawn. */
export type MessagePart = TextPart | ThinkingPart | ToolPart | StatusPart | InteractionPart | DataPart | ReferencePart;

/** Ids of the last stream, the first start and the last end in Unix milliseconds. */
export interface MessageMetadata {
  requestId: string | null;
  sessionId: string | null;
  threadId: string | null;
  startTime: number | null;
  endTime: number | null;
}

/** The streams of one message, folded. Plain data that never changes: a later event makes another object. */
export interface MessageState {
  /** For keys: it stays. */
  id: string;
  messageId: string | null;
  role: "assistant";
  thinkingContent: string;
  /** The answer; several messages are separated by an empty line. */
  mainContent: string;
  /** The text of each channel other than the answer. */
  channels: Record<string, string>;
  toolCalls: ToolCall[];
  dataBlocks: DataBlock[];
  references: DataOf<"reference">[];
  interactions: DataOf<"interaction">[];
  /** Warnings, errors that did not end the run, changes that could not be applied. */
  warnings: DataOf<"warning">[];
  statuses: DataOf<"status">[];
  parts: MessagePart[];
  isStreaming: boolean;
  hasError: boolean;
  errorCode: Code | null;
  errorType: ErrorType | null;
  errorMessage: string | null;
  recoverable: boolean | null;
  retryAfterMs: number | null;
  /** How the last stream ended; null while it has not. */
  status: DataOf<"session_end">["status"] | null;
  reason: Reason | null;
  summary: DataOf<"session_end">["summary"] | null;
  metadata: MessageMetadata;
}
