// A talk as `useChat` leads it: a question, then a call that the user approves. Prints what the page shows.

import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

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

async function talk(text) {
  const chat = new Chat({
    id: crypto.randomUUID(),
    transport: new DefaultChatTransport({ api: process.argv[2] }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await chat.sendMessage({ text });
  const parts = () => chat.messages.flatMap((message) => (message.role === "assistant" ? message.parts : []));
  const asked = parts().find((part) => part.state === "approval-requested");
  if (asked) {
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    for (let tries = 0; tries < 100 && chat.status !== "error"; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (chat.status === "ready" && parts().every((part) => part.state !== "approval-responded")) break;
    }
  }
  const texts = parts().filter((part) => part.type === "text").map((part) => part.text);
  return { asked: Boolean(asked), text: texts.join(""), error: chat.error ? String(chat.error.message) : null };
}

console.log(JSON.stringify([await talk("weather?"), await talk("book it")]));
