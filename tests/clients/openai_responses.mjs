// Reads responses with the package `openai`, streamed and whole: one request a line on stdin, what it made of it a
// line on stdout.

import { createInterface } from "node:readline";
import OpenAI from "openai";

const asked = { model: "support-bot", input: "Hello" };

function seenIn(response) {
  const items = response.output;
  const texts = items.filter((item) => item.type === "message").flatMap((item) => item.content);
  const failed = response.status === "failed" || response.status === "cancelled";
  return {
    text: texts.map((part) => part.text).join(""),
    thinking: items.filter((item) => item.type === "reasoning").flatMap((item) => item.summary)
      .map((part) => part.text).join(""),
    calls: items.filter((item) => item.type === "function_call").map(({ name, arguments: given }) => ({ name, arguments: given })),
    ran: items.filter((item) => item.type === "mcp_call").map(({ name, arguments: given, output, error }) => ({
      name, arguments: given, output, error: error?.content[0].text ?? null,
    })),
    end: response.status,
    error: response.error?.message ?? (failed ? response.status : null),
    status: null,
    open: items.filter((item) => item.status === "in_progress").map((item) => item.type),
  };
}

async function failing(read) {
  try {
    return await read();
  } catch (error) {
    return {
      text: "", thinking: "", calls: [], ran: [], end: null, open: [],
      error: error?.error?.message ?? String(error?.message ?? error), status: error?.status ?? null,
    };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, headers } = JSON.parse(line);
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, defaultHeaders: headers });
  const seen = await failing(async () => seenIn(await client.responses.stream(asked).finalResponse()));
  const whole = await failing(async () => seenIn(await client.responses.create(asked)));
  process.stdout.write(JSON.stringify({ ...seen, whole }) + "\n");
}
