// Reads chat completions as the AI SDK does with its provider for servers like OpenAI's: one request a line on stdin,
// what it made of it a line on stdout.

import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

console.warn = console.error = console.debug = console.log = () => {};

const callsOf = (calls) => calls.map((call) => ({ name: call.toolName, arguments: JSON.stringify(call.input) }));
const messageOf = (error) => error?.data?.error?.message ?? error?.message ?? String(error);

async function streamed(model) {
  const seen = { text: "", thinking: "", calls: [], ran: null, end: null, error: null, status: null };
  const { fullStream } = streamText({ model, prompt: "Hello", maxRetries: 0, onError: () => {} });
  for await (const part of fullStream) {
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "reasoning-delta") seen.thinking += part.text;
    if (part.type === "tool-call") seen.calls.push(part);
    if (part.type === "error") { seen.error = messageOf(part.error); seen.status = part.error?.statusCode ?? null; }
    if (part.type === "finish") seen.end = part.finishReason;
  }
  return { ...seen, calls: callsOf(seen.calls) };
}

async function whole(model) {
  try {
    const found = await generateText({ model, prompt: "Hello", maxRetries: 0 });
    return {
      text: found.text, thinking: found.reasoningText ?? "", calls: callsOf(found.toolCalls), ran: null,
      end: found.finishReason, error: null, status: null,
    };
  } catch (error) {
    return { text: "", thinking: "", calls: [], ran: null, end: null, error: messageOf(error), status: error?.statusCode ?? null };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, headers } = JSON.parse(line);
  const model = createOpenAICompatible({ name: "streamweir", baseURL: url, headers })("support-bot");
  process.stdout.write(JSON.stringify({ ...(await streamed(model)), whole: await whole(model) }) + "\n");
}
