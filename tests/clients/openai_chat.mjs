// Reads chat completions with the package `openai`, streamed and whole: one request a line on stdin, what it made
// of it a line on stdout.

import { createInterface } from "node:readline";
import OpenAI from "openai";

const asked = { model: "support-bot", messages: [{ role: "user", content: "Hello" }] };

const callsOf = (message) => (message?.tool_calls ?? []).map((call) => ({
  name: call.function.name, arguments: call.function.arguments,
}));

function failureOf(error) {
  return { error: error?.error?.message ?? String(error?.message ?? error), status: error?.status ?? null };
}

async function streamed(client) {
  const seen = { text: "", thinking: "", calls: [], ran: null, end: null, error: null, status: null };
  try {
    const stream = client.chat.completions.stream(asked);
    stream.on("chunk", (chunk) => {
      seen.text += chunk.choices[0]?.delta?.content ?? "";
      seen.thinking += chunk.choices[0]?.delta?.reasoning_content ?? "";
    });
    const { choices: [choice] } = await stream.finalChatCompletion();
    return { ...seen, text: choice.message.content ?? "", calls: callsOf(choice.message), end: choice.finish_reason };
  } catch (error) {
    return { ...seen, ...failureOf(error) };
  }
}

async function whole(client) {
  try {
    const { choices: [choice] } = await client.chat.completions.create(asked);
    const { message } = choice;
    return {
      text: message.content ?? "", thinking: message.reasoning_content ?? "", calls: callsOf(message), ran: null,
      end: choice.finish_reason, error: null, status: null,
    };
  } catch (error) {
    return { text: "", thinking: "", calls: [], ran: null, end: null, ...failureOf(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, headers } = JSON.parse(line);
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, defaultHeaders: headers });
  process.stdout.write(JSON.stringify({ ...(await streamed(client)), whole: await whole(client) }) + "\n");
}
