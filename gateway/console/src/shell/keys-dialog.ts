// The dialog that lists the keys of the view in sight.

import { html, type TemplateResult } from "lit";
import type { KeyHelp } from "./view.js";

const EVERYWHERE: readonly KeyHelp[] = [
  ["?", "Show these keys"],
  ["Esc", "Close, or go back"],
  ["g then l, p, c, d", "Go to Live, Playground, Configuration, Dialects"],
];

export function keysDialog(keys: readonly KeyHelp[]): TemplateResult {
  return html`
    <dialog class="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Shortcuts</h2>
      <dl>
        ${[...keys, ...EVERYWHERE].map(([key, effect]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${effect}</dd></div>`)}
      </dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  `;
}
