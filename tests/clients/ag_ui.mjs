// Reads streams with @ag-ui/client, one request a line on stdin, what it made of it a line on stdout.

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

const OPENED = {
  TEXT_MESSAGE_START: ["text", "messageId"], TOOL_CALL_START: ["call", "toolCallId"],
  REASONING_START: ["span", "messageId"], REASONING_MESSAGE_START: ["reasoning", "messageId"],
  THINKING_START: ["span", ""], THINKING_TEXT_MESSAGE_START: ["reasoning", ""], STEP_STARTED: ["step", "stepName"],
};
const CLOSED = {
  TEXT_MESSAGE_END: ["text", "messageId"], TOOL_CALL_END: ["call", "toolCallId"],
  REASONING_END: ["span", "messageId"], REASONING_MESSAGE_END: ["reasoning", "messageId"],
  THINKING_END: ["span", ""], THINKING_TEXT_MESSAGE_END: ["reasoning", ""], STEP_FINISHED: ["step", "stepName"],
};

console.warn = (...words) => warnings.push(words.join(" "));
console.error = console.debug = console.log = () => {};
let warnings = [];

async function read({ url, headers }) {
  warnings = [];
  const seen = { thinking: "", end: null, error: null, refused: null };
  const open = new Set();
  const agent = new HttpAgent({ url, headers, threadId: "thread-1", initialMessages: [{ id: "u1", role: "user", content: "Hello" }] });
  const subscriber = {
    onEvent({ event }) {
      if (OPENED[event.type]) open.add(`${OPENED[event.type][0]}/${event[OPENED[event.type][1]] ?? ""}`);
      if (CLOSED[event.type]) open.delete(`${CLOSED[event.type][0]}/${event[CLOSED[event.type][1]] ?? ""}`);
      if (/^(REASONING|THINKING).*CONTENT$/.test(event.type)) seen.thinking += event.delta;
      if (event.type === "RUN_FINISHED") seen.end = event.outcome?.type ?? "success";
      if (event.type === "RUN_ERROR") { seen.end = "error"; seen.error = event.message; }
    },
  };
  try {
    await agent.runAgent({ runId: "run-1" }, subscriber);
  } catch (error) {
    if (seen.end !== "error") seen.refused = String(error?.message ?? error);
  }
  const results = new Map();
  for (const message of agent.messages) if (message.role === "tool") results.set(message.toolCallId, message.content);
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []).map((call) => ({
    id: call.id, name: call.function.name, arguments: call.function.arguments, result: results.get(call.id) ?? null,
  }));
  const texts = agent.messages.filter((message) => message.role === "assistant" && message.content);
  return { ...seen, text: texts.map((message) => message.content).join(""), calls, open: [...open], warnings };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
