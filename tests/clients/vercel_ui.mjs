// Reads streams as `useChat` does, with the chat of the package `ai`: one request a line on stdin, what it made
// of it a line on stdout.

import { createInterface } from "node:readline";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = [...this.messages.slice(0, index), message, ...this.messages.slice(index + 1)];
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(init) {
    super({ ...init, state: new State() });
  }
}

console.warn = console.error = console.debug = console.log = () => {};

async function read({ url, headers }) {
  let requests = 0;
  const toRun = [];
  const chat = new Chat({
    id: "chat-1",
    transport: new DefaultChatTransport({
      api: url,
      headers,
      fetch: (...request) => (++requests > 1 ? Promise.reject(new Error("asked again")) : fetch(...request)),
    }),
    onError: () => {},
    onToolCall: ({ toolCall }) => { toRun.push(toolCall.toolName); },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  });
  await chat.sendMessage({ text: "Hello" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  const parts = chat.messages.filter((message) => message.role === "assistant").flatMap((message) => message.parts);
  const texts = (type) => parts.filter((part) => part.type === type).map((part) => part.text).join("");
  const isCall = (part) => part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return {
    text: texts("text"),
    thinking: texts("reasoning"),
    calls: parts.filter(isCall).map((part) => ({
      id: part.toolCallId, name: part.toolName ?? part.type.slice("tool-".length), input: part.input, state: part.state,
      output: part.output ?? null, error: part.errorText ?? null,
    })),
    open: parts.filter((part) => part.state === "streaming" || part.state === "input-streaming").map((part) => part.type),
    status: chat.status,
    error: chat.error ? String(chat.error.message) : null,
    requests,
    toRun,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
