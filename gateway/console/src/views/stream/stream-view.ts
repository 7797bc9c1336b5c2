// Stream: what came in, what it meant and what went out, side by side on one time axis.

import "./stream.css";
import "./panels.css";
import "./stream-lanes.js";
import "./overview-bar.js";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Capture } from "../../capture/capture.js";
import { curlOf } from "../../capture/curl.js";
import { itemWhole } from "../../capture/item-text.js";
import { type Layout, layOut } from "../../capture/layout.js";
import { MessageHistory } from "../../capture/message-history.js";
import { asText, type Item, type Lane } from "../../capture/shapes.js";
import { api, explain } from "../../data/api.js";
import { Watch } from "../../data/changes.js";
import { feed } from "../../data/feed.js";
import { isRunning, type Row } from "../../data/rows.js";
import { copyText, saveFile } from "../../shell/clipboard.js";
import { PageView } from "../../shell/page-view.js";
import { visibleLine } from "../../text/visible.js";
import { reasonOf, toneOf } from "../live/columns.js";
import { detailPanel } from "./detail-panel.js";
import { fileField, takesFiles } from "./file-field.js";
import { messagePanel } from "./message-panel.js";
import { rowOfCapture } from "./row-of-capture.js";
import { firstChoice, lastEventUpTo, stepFrom } from "./selection.js";
import type { StreamLanes } from "./stream-lanes.js";
import { StreamSource } from "./stream-source.js";
import { summaryPanel } from "./summary-panel.js";

const TICK_MS = 250;
const STEPS = [
  ["First", "Home"],
  ["Previous", "ArrowUp"],
  ["Next", "ArrowDown"],
  ["Last", "End"],
] as const;

class StreamView extends PageView {
  readonly #source = new StreamSource();
  #capture: Capture | undefined;
  #size = -1;
  #layout: Layout = layOut([]);
  #history: MessageHistory | undefined;
  /** Of a capture from a file: the row that it tells of. */
  #fileRow: Row | undefined;
  #chosen: Item | undefined;
  /** Whether the last item stays chosen while the stream grows: until the user chooses another one. */
  #follows = true;
  /** The item that was chosen at the last drawing. */
  #shown: Item | undefined;
  #place = 0;
  #toast = "";
  #ticking: ReturnType<typeof setInterval> | undefined;
  #endDrops: (() => void) | undefined;
  readonly #choose = (item: Item) => this.#chooseByHand(item);

  constructor() {
    super();
    new Watch(this, this.#source);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // It was taken out of the document while the page asked for a token.
    if (this.hasUpdated) this.#open();
    this.#endDrops = takesFiles(() => this.#open());
    this.#ticking = setInterval(() => {
      if (this.#source.row && isRunning(this.#source.row) && !this.#source.fileName) this.requestUpdate();
    }, TICK_MS);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#source.close();
    this.#endDrops?.();
    clearInterval(this.#ticking);
  }

  #open(): void {
    this.#chosen = this.#capture = this.#history = undefined;
    this.#size = -1;
    this.#place = 0;
    this.#follows = true;
    this.#source.open(this.params.id ?? "");
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("params")) this.#open();
    const capture = this.#source.captures[this.#place] ?? this.#source.captures[0];
    if (capture === this.#capture && (capture?.size ?? -1) === this.#size) return;
    if (capture !== this.#capture) this.#history = capture && new MessageHistory(capture);
    if (capture !== this.#capture && this.#chosen && capture)
      this.#chosen = capture.items[this.#chosen.lane][this.#chosen.index];
    this.#capture = capture;
    this.#size = capture?.size ?? -1;
    this.#layout = layOut(capture?.groups.all ?? []);
    this.#fileRow = capture && this.#source.fileName ? rowOfCapture(capture) : undefined;
    if (capture && (this.#follows || !this.#chosen)) this.#chosen = firstChoice(capture);
  }

  protected override updated(): void {
    if (this.#chosen && this.#follows) this.#lanes?.reveal(this.#chosen);
    if (this.#chosen === this.#shown) return;
    if (this.#shown === undefined && this.#chosen) this.#takeFocus(this.#chosen);
    this.#shown = this.#chosen;
    // The end of the message is what the choice has changed.
    const message = this.querySelector(".stream-message");
    if (message) message.scrollTop = message.scrollHeight;
  }

  protected override render(): TemplateResult {
    return html`
      ${this.#head()}
      ${this.#source.problem ? html`<p class="stream-problem problem" role="alert">${this.#source.problem}</p>` : nothing}
      ${this.#source.notes.map((note) => html`<p class="stream-note">${visibleLine(note)}</p>`)}
      ${this.#source.progress ? html`<p class="stream-note">${this.#source.progress}</p>` : nothing}
      <div class="stream-body">
        ${this.#capture ? this.#axis(this.#capture) : nothing}
        <div class="stream-side">
          ${this.#capture ? this.#message(this.#capture) : nothing}
          ${detailPanel(this.#chosen, this.#chosen ? itemWhole(this.#chosen) : "")}
          ${this.#summary()}
        </div>
      </div>
    `;
  }

  #head(): TemplateResult {
    const { fileName } = this.#source;
    const row = this.#row;
    const reason = row ? (reasonOf(row) ?? row.state) : "";
    return html`
      <div class="stream-head">
        <h1>
          ${fileName ? "Capture" : "Stream"} <span class="mono">${visibleLine(row?.request_id ?? fileName ?? "")}</span>
          <span class="muted">${visibleLine(row?.endpoint ?? "")}</span>
        </h1>
        ${row ? html`<span class="tag ${toneClass(toneOf(row))}">${visibleLine(reason)}</span>` : nothing}
        ${row?.hint ? html`<span class="stream-hint">${visibleLine(row.hint)}</span>` : nothing}
        <span class="toolbar stream-tools">
          <span aria-live="polite" class="muted">${this.#toast}</span>
          ${this.#choiceOfCapture()}
          <button ?disabled=${row === undefined || row.capture === "none" || Boolean(fileName)} @click=${() => void this.#export()}>Export capture</button>
          <button ?disabled=${this.#curl === undefined} title=${this.#curl === undefined ? "The request was not kept" : nothing}
            @click=${() => void this.#copyCurl()}>Copy as curl</button>
          ${fileField(() => this.#open())}
        </span>
      </div>
    `;
  }

  #choiceOfCapture(): TemplateResult | typeof nothing {
    const { captures } = this.#source;
    if (captures.length < 2) return nothing;
    return html`<label>Capture <select @change=${(event: Event) => this.#showCapture(Number((event.target as HTMLSelectElement).value))}>
      ${captures.map((one, place) => html`<option value=${place}>${place + 1}: ${visibleLine(asText(one.meta.id) ?? "")}</option>`)}
    </select></label>`;
  }

  #axis(capture: Capture): TemplateResult {
    return html`
      <div class="stream-axis">
        <div class="stream-steps">
          <overview-bar .capture=${capture} .chosen=${this.#chosen} .size=${this.#size} .choose=${this.#choose}></overview-bar>
          <span class="steps">${STEPS.map(([name, key]) => html`<button @click=${() => this.#step(key)}>${name}</button>`)}</span>
        </div>
        <stream-lanes class="panel" .capture=${capture} .layout=${this.#layout} .chosen=${this.#chosen} .choose=${this.#choose}></stream-lanes>
      </div>
    `;
  }

  #message(capture: Capture): TemplateResult {
    const place = this.#chosen ? lastEventUpTo(capture, this.#layout, this.#chosen) : -1;
    const message = this.#history?.after(place) ?? { parts: [], end: "" };
    return html`<section class="panel stream-message" aria-label="Message" tabindex="0">
      <h2>Message</h2>${messagePanel(message, capture.hasContent)}
    </section>`;
  }

  #summary(): TemplateResult | typeof nothing {
    const { attempts } = this.#source;
    const row = this.#row;
    if (!row) return nothing;
    return html`<section class="panel stream-summary" aria-label="Summary" tabindex="0">
      <h2>Summary</h2>${summaryPanel(row, attempts, Date.now() + feed.clockOffset)}
    </section>`;
  }

  get #row(): Row | undefined {
    return this.#source.fileName ? this.#fileRow : this.#source.row;
  }

  get #lanes(): StreamLanes | null {
    return this.querySelector("stream-lanes");
  }

  /** Lets keys move in a lane at once, unless the user is somewhere else already. */
  #takeFocus(item: Item): void {
    const focused = document.activeElement;
    if (focused === document.body || focused?.id === "main")
      void this.#lanes?.updateComplete.then(() => this.#lanes?.focusLane(item.lane));
  }

  #chooseByHand(item: Item): void {
    this.#chosen = item;
    const row = this.#row;
    const isLast = item === this.#capture?.items[item.lane].at(-1);
    this.#follows = isLast && row !== undefined && isRunning(row);
    this.requestUpdate();
    void this.updateComplete.then(() => this.#lanes?.reveal(item));
  }

  #step(key: string): void {
    if (!this.#capture) return;
    const lane = this.#chosen?.lane ?? this.#firstLane(this.#capture);
    const item = stepFrom(this.#capture, this.#chosen, lane, key);
    if (item) this.#chooseByHand(item);
  }

  #firstLane(capture: Capture): Lane {
    return (["event", "read", "write"] as const).find((lane) => capture.items[lane].length > 0) ?? "event";
  }

  #showCapture(place: number): void {
    this.#place = place;
    this.#chosen = undefined;
    this.requestUpdate();
  }

  get #curl(): string | undefined {
    const request = this.#capture?.requests.find(({ side }) => side === "client");
    return curlOf(request, this.#source.fileName ? "" : (feed.info?.gateway ?? ""));
  }

  async #copyCurl(): Promise<void> {
    const isCopied = await copyText(this.#curl ?? "");
    this.#say(isCopied ? "Copied" : "The browser does not allow copying");
  }

  async #export(): Promise<void> {
    const { row } = this.#source;
    if (!row) return;
    try {
      const response = await api.capture(row.id);
      saveFile(`${row.request_id.replace(/[^\w.-]/g, "") || "stream"}.capture.jsonl`, await response.blob());
    } catch (error) {
      this.#say(explain(error));
    }
  }

  #say(words: string): void {
    this.#toast = words;
    this.requestUpdate();
    setTimeout(() => {
      this.#toast = "";
      this.requestUpdate();
    }, 4000);
  }
}

function toneClass(tone: string): string {
  return tone === "running" ? "accent" : tone;
}

customElements.define("stream-view", StreamView);
