// Leads tool loops with the packages `openai` and `@anthropic-ai/sdk` and their own tool runners, and with the AI SDK's
// provider for chat completions: one task a line on stdin, the texts and calls on stdout.

import { createInterface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";

console.warn = console.error = console.debug = console.log = () => {};

const RESULT = "21 degrees";
const NAMES = ["weather", "wind"];

// Each request goes to the next replica.
const spread = (urls) => {
  let requests = 0;
  return (url, options) => {
    const path = String(url).slice(urls[0].length);
    return fetch(urls[requests++ % urls.length] + path, options);
  };
};

async function openaiRunner({ urls, questions }, turns) {
  const client = new OpenAI({ baseURL: urls[0], apiKey: "none", maxRetries: 0, fetch: spread(urls) });
  const tools = NAMES.map((name) => ({
    type: "function",
    function: { name, parameters: { type: "object", properties: {} }, parse: JSON.parse, function: () => RESULT },
  }));
  let messages = [];
  for (const content of questions) {
    const runner = client.chat.completions.runTools({ model: "m", messages: [...messages, { role: "user", content }], tools, stream: true });
    runner.on("message", (message) => {
      if (message.role !== "assistant") return;
      turns.push({ text: message.content ?? "", calls: (message.tool_calls ?? []).map((call) => call.function.name) });
    });
    await runner.done();
    messages = runner.messages;
  }
}

async function anthropicRunner({ urls, questions }, turns) {
  const client = new Anthropic({ baseURL: urls[0], apiKey: "none", maxRetries: 0, fetch: spread(urls) });
  const tools = NAMES.map((name) => ({ name, input_schema: { type: "object" }, run: () => RESULT, parse: (input) => input }));
  let messages = [];
  for (const content of questions) {
    messages = [...messages, { role: "user", content }];
    const runner = client.beta.messages.toolRunner({ model: "m", max_tokens: 1024, messages, tools, stream: true });
    for await (const stream of runner) {
      const message = await stream.finalMessage();
      const text = message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
      turns.push({ text, calls: message.content.filter((block) => block.type === "tool_use").map((block) => block.name) });
    }
    messages = [...runner.params.messages];
  }
}

async function compatible({ urls, questions, style }, turns) {
  const model = createOpenAICompatible({ name: "streamweir", baseURL: urls[0], fetch: spread(urls) })("m");
  const tools = Object.fromEntries(NAMES.map((name) => [name, tool({
    description: name, inputSchema: jsonSchema({ type: "object", properties: {} }), execute: () => RESULT,
  })]));
  let messages = [];
  for (const content of questions) {
    messages = [...messages, { role: "user", content }];
    const asked = { model, messages, tools, maxRetries: 0, stopWhen: stepCountIs(6), onError: () => {} };
    const result = style.endsWith("whole") ? await generateText(asked) : streamText(asked);
    for (const step of await result.steps) turns.push({ text: step.text, calls: step.toolCalls.map((call) => call.toolName) });
    messages = [...messages, ...(await result.response).messages];
  }
}

const STYLES = { openai: openaiRunner, anthropic: anthropicRunner, compatible, "compatible-whole": compatible };

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  const turns = [];
  let error = null;
  try {
    await STYLES[task.style](task, turns);
  } catch (caught) {
    error = String(caught?.stack ?? caught);
  }
  process.stdout.write(JSON.stringify({ turns, error }) + "\n");
}
