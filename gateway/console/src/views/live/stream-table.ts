// The table of streams. Only the rows in sight are in the document: aria-rowcount and aria-rowindex tell the rest.

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { isRunning, type Row } from "../../data/rows.js";
import { movedBy, scrolledTo, visibleRange } from "../../list/window.js";
import { PageElement } from "../../shell/page-view.js";
import { router } from "../../shell/routing.js";
import { styled } from "../../shell/styled.js";
import { COLUMNS, type Column, toneOf } from "./columns.js";

const WIDE_ROW = 28;
const NARROW_ROW = 82;
const HEAD = 28;
const TICK_MS = 200;
const narrow = matchMedia("(max-width: 760px)");

/** The place in the table, which stays while another view is open. */
const memory = { selected: "", top: 0 };

class StreamTable extends PageElement {
  static override properties = { rows: { attribute: false }, empty: { attribute: false }, clock: { attribute: false } };
  declare rows: readonly Row[];
  /** What an empty table says. */
  declare empty: TemplateResult | string;
  /** Returns Unix milliseconds; it does not move on while the table is paused. */
  declare clock: () => number;
  #height = 600;
  #top = memory.top;
  #anchor: { id: string; offset: number } | undefined;
  #ticking: ReturnType<typeof setInterval> | undefined;
  readonly #size = new ResizeObserver(() => this.#measure());
  readonly #onNarrow = () => this.requestUpdate();

  constructor() {
    super();
    this.rows = [];
    this.empty = "";
    this.clock = Date.now;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#size.observe(this);
    narrow.addEventListener("change", this.#onNarrow);
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#size.disconnect();
    narrow.removeEventListener("change", this.#onNarrow);
    clearInterval(this.#ticking);
    memory.top = this.#top;
  }

  protected override firstUpdated(): void {
    const box = this.#box;
    box.scrollTop = this.#top;
    this.#measure();
    const focused = document.activeElement;
    if (memory.selected && (focused === document.body || focused?.id === "main")) box.focus({ preventScroll: true });
  }

  /** Keeps the row at the upper edge where it is when others come before it. */
  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("rows") || this.#anchor === undefined || this.#top <= 0) return;
    const place = this.rows.findIndex((row) => row.id === this.#anchor?.id);
    if (place >= 0) this.#top = place * this.#rowHeight + this.#anchor.offset;
  }

  protected override updated(): void {
    const box = this.#box;
    if (Math.abs(box.scrollTop - this.#top) >= 1) box.scrollTop = this.#top;
    this.#remember();
  }

  protected override render(): TemplateResult {
    const height = this.#rowHeight;
    const { start, end } = visibleRange(this.#top, this.#height, height, this.rows.length);
    const now = this.clock();
    const selected = this.#place;
    return html`
      <div class="streams" role="grid" aria-label="Streams" tabindex="0" aria-rowcount=${this.rows.length}
        aria-colcount=${COLUMNS.length} aria-readonly="true"
        aria-activedescendant=${selected >= start && selected < end ? domId(memory.selected) : nothing}
        @scroll=${this.#onScroll} @keydown=${this.#onKey} @focusin=${this.#onFocus}>
        <div role="rowgroup" class="streams-head">
          <div role="row" class="stream-row">
            ${COLUMNS.map((column) => html`<div role="columnheader" class=${cellClass(column)} title=${column.title}>${column.title}</div>`)}
          </div>
        </div>
        <div role="rowgroup" class="streams-body" ${styled({ height: `${this.rows.length * height}px` })}>
          ${this.rows.length ? nothing : html`<div role="row" class="streams-empty"><div role="gridcell">${this.empty}</div></div>`}
          ${repeat(
            this.rows.slice(start, end),
            (row) => row.id,
            (row, place) => this.#row(row, start + place, now),
          )}
        </div>
      </div>
    `;
  }

  #row(row: Row, place: number, now: number): TemplateResult {
    const isSelected = row.id === memory.selected;
    const cell = (column: Column) => {
      const text = column.text(row, now);
      const raw = column.isNumber ? (row[column.field as keyof Row] ?? "") : nothing;
      return html`<div role="gridcell" class=${cellClass(column)} data-field=${column.field} data-value=${raw} title=${text.length > 12 ? text : nothing}>${
        column.field === "request_id" ? html`<a href=${pathOf(row)} tabindex="-1">${text}</a>` : text
      }</div>`;
    };
    return html`
      <div role="row" class="stream-row" id=${domId(row.id)} tabindex="-1" aria-rowindex=${place + 1} aria-selected=${isSelected}
        data-id=${row.id} data-request-id=${row.request_id} data-tone=${toneOf(row)} data-state=${row.state}
        ${styled({ transform: `translateY(${place * this.#rowHeight}px)` })}
        @click=${(event: MouseEvent) => this.#onClick(event, row)}>
        ${COLUMNS.map(cell)}
      </div>
    `;
  }

  get #box(): HTMLElement {
    return this.querySelector(".streams") as HTMLElement;
  }

  get #rowHeight(): number {
    return narrow.matches ? NARROW_ROW : WIDE_ROW;
  }

  /** The place of the selected row; -1: none is. */
  get #place(): number {
    return memory.selected ? this.rows.findIndex((row) => row.id === memory.selected) : -1;
  }

  #measure(): void {
    this.#height = this.#box?.clientHeight || this.#height;
    this.requestUpdate();
  }

  #remember(): void {
    const first = Math.floor(this.#top / this.#rowHeight);
    const row = this.rows[first];
    this.#anchor = row && { id: row.id, offset: this.#top - first * this.#rowHeight };
  }

  #tick(): void {
    if (document.hidden) return;
    const { start, end } = visibleRange(this.#top, this.#height, this.#rowHeight, this.rows.length);
    if (this.rows.slice(start, end).some(isRunning)) this.requestUpdate();
  }

  #onScroll(): void {
    const top = this.#box.scrollTop;
    if (top === this.#top) return;
    this.#top = top;
    this.requestUpdate();
  }

  /** A row that is focused by itself is selected, and the table keeps the focus. */
  #onFocus(event: FocusEvent): void {
    const row = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-id]") : null;
    if (!row || event.target !== row) return;
    memory.selected = row.dataset.id ?? "";
    this.#box.focus({ preventScroll: true });
    this.requestUpdate();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") {
      const row = this.rows[Math.max(0, this.#place)];
      if (row) open(row);
      event.preventDefault();
      return;
    }
    const page = Math.max(1, Math.floor(this.#height / this.#rowHeight) - 2);
    const place = movedBy(event.key, this.#place, this.rows.length, page);
    const row = place === undefined ? undefined : this.rows[place];
    if (place === undefined || row === undefined) return;
    event.preventDefault();
    memory.selected = row.id;
    this.#top = scrolledTo(this.#top, this.#height - this.#headHeight, place * this.#rowHeight, this.#rowHeight);
    this.requestUpdate();
  }

  get #headHeight(): number {
    return narrow.matches ? 0 : HEAD;
  }

  #onClick(event: MouseEvent, row: Row): void {
    memory.selected = row.id;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.type === "Range")
      return;
    event.preventDefault();
    open(row);
  }
}

function pathOf(row: Row): string {
  return `/streams/${encodeURIComponent(row.id)}`;
}

function open(row: Row): void {
  memory.selected = row.id;
  router.go(pathOf(row));
}

function domId(id: string): string {
  return `stream-${id.replace(/[^\w-]/g, "_")}`;
}

function cellClass(column: Column): string {
  return `cell cell-${column.field}${column.isNumber ? " number" : ""}`;
}

customElements.define("stream-table", StreamTable);
