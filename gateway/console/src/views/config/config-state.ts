// Which file is in force, and whether it is the file on disk.

import { html, nothing, type TemplateResult } from "lit";
import type { Configuration } from "../../data/config.js";
import { timeOfDay } from "../../text/format.js";
import { visibleLine, visibleText } from "../../text/visible.js";

export function configState(config: Configuration): TemplateResult {
  return html`
    <section class="panel config-state" aria-label="File">
      ${verdict(config)}
      <dl>
        <div><dt>File</dt><dd class="mono">${visibleLine(config.file ?? "none")}</dd></div>
        <div><dt>Loaded</dt><dd>${new Date(config.loaded).toLocaleDateString()} ${timeOfDay(config.loaded)}</dd></div>
        <div><dt>In force</dt><dd class="mono" data-field="running_hash">${config.running_hash ?? "–"}</dd></div>
        <div><dt>On disk</dt><dd class="mono" data-field="file_hash">${config.file_hash ?? "–"}</dd></div>
      </dl>
      ${reloadError(config)}
    </section>
  `;
}

function verdict(config: Configuration): TemplateResult {
  if (config.file === null) return html`<p>The configuration was not read from a file.</p>`;
  if (config.file_hash === null) {
    return html`<p class="bad-words"><strong>The file cannot be read.</strong> The gateway goes on with what it loaded before.</p>`;
  }
  if (config.file_hash === config.running_hash) {
    return html`<p><span class="tag good">in force</span> The gateway runs with the file as it is on disk.</p>`;
  }
  const next = config.reload_error
    ? "Mend the problems below."
    : "Send SIGHUP, or start it with --reload, to load the file.";
  return html`<p class="bad-words"><strong>The file on disk differs from the configuration in force.</strong> ${next}</p>`;
}

function reloadError(config: Configuration): TemplateResult | typeof nothing {
  if (!config.reload_error) return nothing;
  const { at, problems } = config.reload_error;
  return html`
    <div class="reload-error" data-field="reload_error" role="alert">
      <p><strong>The last reload was refused</strong> at ${timeOfDay(at)}:</p>
      <ul>${problems.map((problem) => html`<li class="mono">${visibleText(problem)}</li>`)}</ul>
    </div>
  `;
}
