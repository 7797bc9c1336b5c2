// The upstreams and their breakers, of all workers together.

import { html, nothing, type TemplateResult } from "lit";
import type { Upstream } from "../../data/config.js";
import { count } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";

const BREAKERS: Readonly<Record<string, readonly [tag: string, word: string]>> = {
  closed: ["good", "closed"],
  half_open: ["warn", "half-open"],
  open: ["bad", "open"],
};

export function upstreamTable(upstreams: readonly Upstream[]): TemplateResult {
  return html`
    <section class="panel config-upstreams" aria-label="Upstreams in use">
      <h2>Upstreams</h2>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of upstreams">
        <table aria-label="Upstreams">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">address</th>
              <th scope="col">breaker</th>
              <th scope="col" class="number">open streams</th>
              <th scope="col" class="number">failures in a row</th>
              <th scope="col">last error</th>
            </tr>
          </thead>
          <tbody>${upstreams.map(upstreamRow)}</tbody>
        </table>
        ${upstreams.length ? nothing : html`<p class="muted">No endpoint has an upstream.</p>`}
      </div>
    </section>
  `;
}

function upstreamRow(upstream: Upstream): TemplateResult {
  const [tag, word] = BREAKERS[upstream.breaker ?? ""] ?? ["", "off"];
  const limit = upstream.max_streams === null ? "" : ` of ${count(upstream.max_streams)}`;
  return html`
    <tr data-name=${upstream.name}>
      <th scope="row" data-field="name">${visibleLine(upstream.name)}</th>
      <td class="mono" data-field="url">${visibleLine(upstream.url ?? "–")}</td>
      <td data-field="breaker"><span class="tag ${tag}">${word}</span></td>
      <td class="number"><span data-field="open">${count(upstream.open)}</span><span class="muted">${limit}</span></td>
      <td class="number" data-field="failures">${count(upstream.failures)}</td>
      <td data-field="last_error" class=${upstream.last_error ? "mono problem" : "muted"}>${visibleLine(upstream.last_error ?? "none")}</td>
    </tr>
  `;
}
