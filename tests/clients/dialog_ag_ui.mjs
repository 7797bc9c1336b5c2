// A talk as an AG-UI page leads it: a question, then a call that the user approves. Prints what the page shows.

import { HttpAgent } from "@ag-ui/client";

console.warn = () => {};

async function talk(content) {
  const agent = new HttpAgent({
    url: process.argv[2],
    threadId: crypto.randomUUID(),
    initialMessages: [{ id: crypto.randomUUID(), role: "user", content }],
  });
  let interrupts = [];
  let error = null;
  const subscriber = {
    onRunFinishedEvent: ({ event }) => { interrupts = event.outcome?.interrupts ?? []; },
    onRunErrorEvent: ({ event }) => { error = event.message; },
  };
  await agent.runAgent({}, subscriber);
  const asked = interrupts;
  if (asked.length) {
    const resume = asked.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved: true } }));
    await agent.runAgent({ resume }, subscriber);
  }
  const texts = agent.messages.filter((message) => message.role === "assistant" && message.content);
  return { asked: asked.length > 0, text: texts.map((message) => message.content).join(""), error };
}

console.log(JSON.stringify([await talk("weather?"), await talk("book it")]));
