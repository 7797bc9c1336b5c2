// Leads tool loops as `useChat` does, with the chat of the package `ai`: one task a line on stdin, the texts and
// calls on stdout. With the style "reload" each request comes from a page that has loaded its messages anew.

import { createInterface } from "node:readline";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

class State {
  status = "ready";
  error = undefined;
  constructor(messages) { this.messages = messages; }
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = [...this.messages.slice(0, index), message, ...this.messages.slice(index + 1)];
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    super({ ...init, state: new State(messages) });
  }
}

console.warn = console.error = console.debug = console.log = () => {};

const isCall = (part) => part.type === "dynamic-tool" || part.type.startsWith("tool-");
const nameOf = (part) => part.toolName ?? part.type.slice("tool-".length);

async function led({ urls, style, questions }) {
  const turns = [];
  let requests = 0;
  let chat = null;
  const newChat = (messages) => new Chat({
    id: "chat-1",
    messages,
    transport: new DefaultChatTransport({
      api: urls[0],
      fetch: (_, options) => fetch(urls[requests++ % urls.length], options),
    }),
    onError: () => {},
    sendAutomaticallyWhen: style === "reload" ? undefined : lastAssistantMessageIsCompleteWithToolCalls,
  });
  const open = () => chat.messages.flatMap((message) => message.parts).filter((part) => isCall(part) && part.state === "input-available");
  chat = newChat([]);
  for (const text of questions) {
    const before = chat.messages.length + 1;
    let seen = 0;
    await chat.sendMessage({ text });
    for (let round = 0; round < 6; round++) {
      const parts = chat.messages.slice(before).flatMap((message) => message.parts);
      const texts = parts.slice(seen).filter((part) => part.type === "text").map((part) => part.text);
      const calls = open();
      turns.push({ text: texts.join(""), calls: calls.map(nameOf) });
      seen = parts.length;
      if (chat.status === "error" || !calls.length) break;
      const asked = requests;
      for (const call of calls) {
        const result = { tool: nameOf(call), toolCallId: call.toolCallId, output: "21 degrees" };
        await (chat.addToolOutput ? chat.addToolOutput(result) : chat.addToolResult(result));
      }
      if (style === "reload") {
        chat = newChat(JSON.parse(JSON.stringify(chat.messages)));
        await chat.sendMessage();
      }
      for (let tries = 0; tries < 400 && (requests === asked || !["ready", "error"].includes(chat.status)); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    }
    if (chat.status === "error") break;
  }
  return { turns, error: chat.error ? String(chat.error.message) : null };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await led(JSON.parse(line))) + "\n");
}
