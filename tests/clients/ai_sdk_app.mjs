// The AI SDK with a made-up model, as a server of the UI message stream: two tools, one needs an approval.

import { createServer } from "node:http";
import { convertToModelMessages, jsonSchema, simulateReadableStream, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";

const CITY = jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
const USAGE = { inputTokens: { total: 3 }, outputTokens: { total: 4 } };

function chunks(prompt) {
  const last = prompt.at(-1);
  const result = last.role === "tool" ? last.content.find((part) => part.type === "tool-result") : null;
  const finish = (unified) => ({ type: "finish", usage: USAGE, finishReason: { unified, raw: unified } });
  const text = (delta) => [
    { type: "text-start", id: "txt-0" }, { type: "text-delta", id: "txt-0", delta }, { type: "text-end", id: "txt-0" },
  ];
  if (result) return [...text(`It gave: ${result.output.value}`), finish("stop")];
  const toolName = JSON.stringify(last.content).includes("book") ? "book" : "weather";
  const toolCallId = `call_${toolName}_000001`;
  return [
    ...text("I see. "),
    { type: "tool-input-start", id: toolCallId, toolName },
    { type: "tool-input-delta", id: toolCallId, delta: '{"city":"Rome"}' },
    { type: "tool-input-end", id: toolCallId },
    { type: "tool-call", toolCallId, toolName, input: '{"city":"Rome"}' },
    finish("tool-calls"),
  ];
}

const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => ({
    stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...chunks(prompt)] }),
  }),
});
const tools = {
  weather: tool({ inputSchema: CITY, execute: async ({ city }) => `sunny in ${city}` }),
  book: tool({ inputSchema: CITY, needsApproval: true, execute: async ({ city }) => `booked ${city}` }),
};

createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const messages = await convertToModelMessages(JSON.parse(body).messages, { tools });
  streamText({ model, tools, messages, stopWhen: stepCountIs(3) }).pipeUIMessageStreamToResponse(response);
}).listen(Number(process.argv[2]), "127.0.0.1");
