// How an answer ended, by the row of its request.

import { html, nothing, type TemplateResult } from "lit";
import { feed } from "../../data/feed.js";
import { hasFailed, isRunning, type Row } from "../../data/rows.js";
import { bytes, duration } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";
import type { Answer } from "./answer.js";

export function answerResult(answer: Answer | undefined): TemplateResult {
  const row = answer && feed.rows.rows.find(({ request_id }) => request_id === answer.requestId);
  return html`
    <section class="panel play-result" aria-label="Result">
      <h2>Result</h2>
      ${answer ? facts(answer, row) : html`<p class="muted">Nothing was sent yet.</p>`}
    </section>
  `;
}

function facts(answer: Answer, row: Row | undefined): TemplateResult {
  const { message } = answer;
  // The row of a request that is over knows more than its client can see.
  const isKnown = row !== undefined && !isRunning(row);
  const reason = isKnown ? row.reason : answer.state === "ended" ? message.reason : "";
  const code = isKnown ? row.code : answer.code || message.errorCode;
  const tag = row && hasFailed(row) ? "bad" : reason ? "good" : "";
  return html`
    <dl>
      <div><dt>status</dt><dd data-field="status">${answer.status ?? "–"}</dd></div>
      <div><dt>reason</dt><dd><span class="tag ${tag}" data-field="reason">${visibleLine(reason || "–")}</span></dd></div>
      <div><dt>code</dt><dd class="mono" data-field="code">${visibleLine(code || "–")}</dd></div>
      <div><dt>took</dt><dd>${duration(row?.duration_ms)}</dd></div>
      <div><dt>bytes</dt><dd>${bytes(answer.bytes)}</dd></div>
      <div><dt>type</dt><dd class="mono">${visibleLine(answer.contentType || "–")}</dd></div>
    </dl>
    ${answer.problem ? html`<p class="problem">${visibleLine(answer.problem)}</p>` : nothing}
    ${row?.hint ? html`<p class="play-hint">${visibleLine(row.hint)}</p>` : nothing}
    ${row ? html`<a href=${`/streams/${encodeURIComponent(row.id)}`}>Open stream</a>` : nothing}
  `;
}
