// The values in force, with the line of the file that each comes from.

import { html, nothing, type TemplateResult } from "lit";
import type { ConfigValue } from "../../data/config.js";
import { visibleLine } from "../../text/visible.js";

const DEFAULT = "default";

/** Returns the values that contain a text in their path, value or origin. */
export function matchingValues(
  values: readonly ConfigValue[],
  text: string,
  isFromFile: boolean,
): readonly ConfigValue[] {
  const wanted = text.trim().toLowerCase();
  return values.filter(
    (one) =>
      (!isFromFile || one.origin !== DEFAULT) &&
      (!wanted || `${one.path} ${shown(one.value)} ${one.origin}`.toLowerCase().includes(wanted)),
  );
}

export function valueTable(values: readonly ConfigValue[], text: string): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="group" aria-label="Table of values">
      <table aria-label="Values">
        <thead><tr><th scope="col">path</th><th scope="col">value</th><th scope="col">origin</th></tr></thead>
        <tbody>${values.map(valueRow)}</tbody>
      </table>
      ${values.length ? nothing : html`<p class="muted">${text ? `No value matches “${visibleLine(text)}”.` : "No values: the configuration was not read from a file."}</p>`}
    </div>
  `;
}

function valueRow({ path, value, origin }: ConfigValue): TemplateResult {
  return html`
    <tr data-path=${path} class=${origin === DEFAULT ? "is-default" : ""}>
      <th scope="row" class="mono">${visibleLine(path)}</th>
      <td class="mono" data-field="value">${visibleLine(shown(value))}</td>
      <td class="mono" data-field="origin">${visibleLine(origin)}</td>
    </tr>
  `;
}

/** Texts as they are in the file, other values as JSON. */
function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
