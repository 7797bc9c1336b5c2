// Reads messages with the package `@anthropic-ai/sdk`, streamed and whole: one request a line on stdin, what it made
// of it a line on stdout.

import { createInterface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";

const asked = { model: "support-bot", max_tokens: 1024, messages: [{ role: "user", content: "Hello" }] };

function seenIn({ content, stop_reason: end }) {
  const of = (type) => content.filter((block) => block.type === type);
  const results = new Map(of("mcp_tool_result").map((block) => [block.tool_use_id, block]));
  return {
    text: of("text").map((block) => block.text).join(""),
    thinking: of("thinking").map((block) => block.thinking).join(""),
    calls: of("tool_use").map((block) => ({ name: block.name, arguments: JSON.stringify(block.input) })),
    ran: of("mcp_tool_use").map((block) => {
      const { is_error: failed, content: [{ text }] } = results.get(block.id);
      return {
        name: block.name, arguments: JSON.stringify(block.input), output: failed ? null : text, error: failed ? text : null,
      };
    }),
    end, error: null, status: null,
  };
}

const failureOf = (error) => ({
  error: error?.error?.error?.message ?? String(error?.message ?? error), status: error?.status ?? null,
});

async function streamed(client) {
  const stream = client.messages.stream(asked);
  try {
    return seenIn(await stream.finalMessage());
  } catch (error) {
    const begun = stream.currentMessage ?? { content: [], stop_reason: null };
    return { ...seenIn(begun), ...failureOf(error) };
  }
}

async function whole(client) {
  try {
    return seenIn(await client.messages.create(asked));
  } catch (error) {
    return { ...seenIn({ content: [], stop_reason: null }), ...failureOf(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, headers } = JSON.parse(line);
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0, defaultHeaders: headers });
  process.stdout.write(JSON.stringify({ ...(await streamed(client)), whole: await whole(client) }) + "\n");
}
