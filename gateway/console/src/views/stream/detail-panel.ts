// All of the item that is chosen.

import { html, nothing, type TemplateResult } from "lit";
import type { Item } from "../../capture/shapes.js";
import { count, duration } from "../../text/format.js";
import { visibleText } from "../../text/visible.js";
import { LANE_NAMES } from "./stream-lanes.js";

const MOST_CHARACTERS = 16_000;
const WORDS = { read: "read", event: "event", write: "write" } as const;

export function detailPanel(item: Item | undefined, whole: string): TemplateResult | typeof nothing {
  if (!item) return nothing;
  const cut = whole.length - MOST_CHARACTERS;
  return html`<section class="panel stream-detail" aria-label="Selected" tabindex="0">
    <h2>${LANE_NAMES[item.lane]} <span class="muted">${WORDS[item.lane]} ${item.n} at ${duration(item.t)}</span></h2>
    <pre>${visibleText(whole.slice(0, MOST_CHARACTERS))}</pre>
    ${cut > 0 ? html`<p class="muted">${count(cut)} more characters: they are in the exported capture.</p>` : nothing}
  </section>`;
}
