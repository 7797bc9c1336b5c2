// A folded answer (framing json) of the protocols without a shape of their own, as events.
// Source: the standard protocol 1.1, section 4.

import { isObject } from "../../capture/shapes.js";

/** Returns the events that a folded answer holds; undefined: it has another shape. */
export function eventsOfFolded(answer: unknown): unknown[] | undefined {
  if (!isObject(answer) || !isObject(answer.message) || !("reason" in answer) || !("warnings" in answer))
    return undefined;
  const { message } = answer;
  return [
    ...(message.thinking ? [{ type: "thinking", data: { content: message.thinking } }] : []),
    ...listOf(message.tool_calls).flatMap((data) => [
      { type: "tool_call_start", data },
      { type: "tool_call_end", data },
    ]),
    ...(message.content ? [{ type: "content", data: { content: message.content } }] : []),
    ...listOf(message.data).map((data) => ({ type: "data", data })),
    ...listOf(message.references).map((data) => ({ type: "reference", data })),
    ...listOf(message.interactions).map((data) => ({ type: "interaction", data })),
    ...listOf(answer.warnings).map((data) => ({ type: "warning", data })),
    ...(isObject(answer.error) ? [{ type: "error", data: answer.error }] : []),
    { type: "session_end", data: { status: answer.status, reason: answer.reason } },
  ];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
