// An answer as a chat shows it.

import { html, nothing, type TemplateResult } from "lit";
import type { MessagePart, MessageState, ToolCall } from "../../../../../clients/typescript/src/index.js";
import { visibleLine, visibleText } from "../../text/visible.js";

/** The most rows of a table that are shown. */
const MAX_ROWS = 20;

export function messageBubble(message: MessageState): TemplateResult {
  return html`
    ${message.parts.map(shownPart)}
    ${message.warnings.map(({ message: text }) => html`<p class="bubble-note warn">⚠ ${visibleText(text)}</p>`)}
    ${message.hasError ? html`<p class="bubble-note bad"><strong>${message.errorCode}</strong> ${visibleText(message.errorMessage ?? "")}</p>` : nothing}
  `;
}

function shownPart(part: MessagePart): TemplateResult | typeof nothing {
  switch (part.type) {
    case "text":
      return html`<div class="bubble-text">${part.channel ? html`<span class="tag">${visibleLine(part.channel)}</span> ` : nothing}${visibleText(part.text)}</div>`;
    case "thinking":
      return html`<details class="bubble-thinking"><summary>Thinking</summary><div class="bubble-text">${visibleText(part.text)}</div></details>`;
    case "tool":
      return toolCard(part.call);
    case "status":
      return html`<p class="bubble-step muted">${visibleLine([part.status.name ?? part.status.scope, part.status.state].join(": "))}</p>`;
    case "data":
      return dataCard(part.block);
    case "reference":
      return html`<ol class="bubble-sources">${part.reference.citations.map((one) => html`<li>${visibleLine(String(one.title ?? one.url ?? one.id ?? "source"))}</li>`)}</ol>`;
    case "interaction":
      return html`<p class="bubble-note accent">The run waits for an answer: ${visibleText(part.interaction.title ?? part.interaction.description ?? part.interaction.kind)}</p>`;
  }
}

function toolCard(call: ToolCall): TemplateResult {
  const tag = { running: "accent", success: "good", failed: "bad" }[call.status];
  return html`
    <details class="bubble-tool">
      <summary><span class="mono">${visibleLine(call.tool_name)}</span> <span class="tag ${tag}">${call.status}</span></summary>
      <pre>${visibleText(JSON.stringify(call.arguments, null, 2))}</pre>
      ${call.error ? html`<pre class="problem">${visibleText(call.error.message)}</pre>` : nothing}
      ${call.result === null || call.result === undefined ? nothing : html`<pre>${visibleText(asText(call.result))}</pre>`}
    </details>
  `;
}

function dataCard(block: Extract<MessagePart, { type: "data" }>["block"]): TemplateResult {
  if (block.data_type === "dataframe") {
    const { columns, rows } = block.data;
    return html`
      <div class="bubble-table">
        <table>
          <thead><tr>${columns.map((column) => html`<th scope="col">${visibleLine(String(column))}</th>`)}</tr></thead>
          <tbody>${rows.slice(0, MAX_ROWS).map((row) => html`<tr>${cellsOf(row).map((cell) => html`<td>${visibleLine(asText(cell))}</td>`)}</tr>`)}</tbody>
        </table>
        ${rows.length > MAX_ROWS ? html`<p class="muted">… ${rows.length - MAX_ROWS} more rows</p>` : nothing}
      </div>
    `;
  }
  return html`
    <details class="bubble-tool"><summary><span class="tag">${visibleLine(block.data_type)}</span></summary><pre>${visibleText(asText(block.data))}</pre></details>
  `;
}

function cellsOf(row: unknown): unknown[] {
  return Array.isArray(row) ? row : Object.values((row ?? {}) as object);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
