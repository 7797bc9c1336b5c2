// Leads tool loops with HttpAgent of @ag-ui/client: one task a line on stdin, the texts and calls on stdout.

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

console.warn = console.error = console.debug = console.log = () => {};

const MOST_ROUNDS = 6;
const tools = ["weather", "wind"].map((name) => ({ name, description: name, parameters: { type: "object", properties: {} } }));

async function led({ urls, style, questions }) {
  let agent = new HttpAgent({ url: urls[0], threadId: crypto.randomUUID() });
  const turns = [];
  let requests = 0;
  let error = null;
  try {
    for (const content of questions) {
      agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
      for (let round = 0; round < MOST_ROUNDS; round++) {
        if (style === "reload") {
          // a page that reloads has the messages that it saved as JSON
          const initialMessages = JSON.parse(JSON.stringify(agent.messages));
          agent = new HttpAgent({ url: urls[0], threadId: agent.threadId, initialMessages });
        }
        agent.url = urls[requests++ % urls.length];
        const before = agent.messages.length;
        await agent.runAgent({ tools }, { onRunErrorEvent: ({ event }) => { error = event.message; } });
        const added = agent.messages.slice(before).filter((message) => message.role === "assistant");
        const calls = added.flatMap((message) => message.toolCalls ?? []);
        turns.push({ text: added.map((message) => message.content ?? "").join(""), calls: calls.map((call) => call.function.name) });
        if (error || !calls.length) break;
        for (const call of calls) {
          agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "21 degrees" });
        }
      }
      if (error) break;
    }
  } catch (caught) {
    error ??= String(caught?.stack ?? caught);
  }
  return { turns, error };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await led(JSON.parse(line))) + "\n");
}
