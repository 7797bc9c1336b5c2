// The bubble: the message as the user saw it up to the selection.

import { html, nothing, type TemplateResult } from "lit";
import type { Message, Part } from "../../capture/message.js";
import { count } from "../../text/format.js";
import { visibleLine, visibleText } from "../../text/visible.js";

/** Of what is longer, the end is shown: it is what the selection has changed. */
const MOST_CHARACTERS = 60_000;
const MOST_PARTS = 200;

/** Returns the content of the region. */
export function messagePanel(message: Message, hasContent: boolean): TemplateResult {
  if (!hasContent) {
    return html`<p class="muted">Only times and sizes of this stream were kept: <code>console.capture</code> is <code>metadata</code>.</p>`;
  }
  const parts = message.parts.filter((part) => !("key" in part) || part.kind === "tool" || part.text !== "");
  const hidden = Math.max(0, parts.length - MOST_PARTS);
  return html`
    <div class="bubble">
      ${hidden ? html`<p class="muted">${count(hidden)} earlier parts</p>` : nothing}
      ${parts.length || message.end ? nothing : html`<p class="muted">Nothing yet.</p>`}
      ${parts.slice(hidden).map(partOf)}
      ${message.end ? html`<p class="bubble-end">${visibleLine(message.end)}</p>` : nothing}
    </div>
  `;
}

function partOf(part: Part): TemplateResult {
  switch (part.kind) {
    case "text":
      return html`<div class="part part-text">${title(part.channel)}${shortened(part.text)}</div>`;
    case "thinking":
      return html`<div class="part part-thinking">${title("thinking")}${shortened(part.text)}</div>`;
    case "tool":
      return html`<div class="part part-tool" data-state=${part.state}>
        <b>${visibleLine(part.name || part.key)}</b> <span class="muted">${visibleLine(part.state)}</span>
        ${part.given ? html`<div class="mono">${shortened(part.given)}</div>` : nothing}
        ${part.result ? html`<div class="mono">→ ${shortened(part.result)}</div>` : nothing}
      </div>`;
    default:
      return html`<div class="part part-${part.kind}">${title(part.title)}${shortened(part.text)}</div>`;
  }
}

function title(text: string): TemplateResult | typeof nothing {
  return text ? html`<b class="part-title">${visibleLine(text)}</b>` : nothing;
}

function shortened(text: string): string {
  const cut = text.length - MOST_CHARACTERS;
  return cut > 0 ? `… (${count(cut)} characters before)\n${visibleText(text.slice(cut))}` : visibleText(text);
}
