// Dialects: what survives between each dialect that is read and each that is written.

import "./dialects.css";
import { html, nothing, type TemplateResult } from "lit";
import { api, explain } from "../../data/api.js";
import { Watch } from "../../data/changes.js";
import { feed } from "../../data/feed.js";
import type { Info } from "../../data/rows.js";
import { PageView } from "../../shell/page-view.js";
import { visibleLine } from "../../text/visible.js";
import { Grid, type Place } from "./grid.js";

class DialectsView extends PageView {
  #grid: Grid | undefined;
  #problem = "";
  #info: Info | undefined;
  /** The cell that is explained, and that Tab reaches. */
  #at: Place = { row: 0, column: 0 };

  constructor() {
    super();
    new Watch(this, feed, () => this.#takeInfo());
  }

  protected override render(): TemplateResult {
    return html`
      <h1>Dialects</h1>
      <p class="muted">Rows are dialects that are read, columns those that are written. A number counts the kinds of events that are lost.</p>
      ${this.#problem ? html`<p class="problem" role="alert">${this.#problem}</p>` : nothing}
      ${this.#grid ? this.#shown(this.#grid) : nothing}
    `;
  }

  #shown(grid: Grid): TemplateResult {
    return html`
      ${this.#explanation(grid)}
      <div class="panel survival" @keydown=${(event: KeyboardEvent) => this.#takeKey(event, grid)}>
        <table aria-label="What survives">
          <thead>
            <tr>
              <th scope="col" class="corner"><span class="muted">read ↓ written →</span></th>
              ${grid.columns.map((name) => html`<th scope="col"><span>${visibleLine(name)}</span></th>`)}
            </tr>
          </thead>
          <tbody>${grid.rows.map((name, row) => this.#row(grid, name, row))}</tbody>
        </table>
      </div>
    `;
  }

  #row(grid: Grid, name: string, row: number): TemplateResult {
    return html`
      <tr data-from=${name}>
        <th scope="row">${visibleLine(name)}</th>
        ${grid.columns.map((target, column) => html`<td data-to=${target}>${this.#cell(grid, { row, column })}</td>`)}
      </tr>
    `;
  }

  #cell(grid: Grid, place: Place): TemplateResult {
    const lost = grid.lost(place);
    const isShown = place.row === this.#at.row && place.column === this.#at.column;
    return html`
      <button class="cell ${heat(lost.length)}" aria-label=${sentence(grid, place)} aria-pressed=${isShown}
        tabindex=${isShown ? 0 : -1} data-place=${`${place.row},${place.column}`}
        @click=${() => this.#show(place)} @focus=${() => this.#show(place)}>${lost.length || html`<span aria-hidden="true">✓</span>`}</button>
    `;
  }

  #explanation(grid: Grid): TemplateResult {
    const lost = grid.lost(this.#at);
    return html`
      <section class="panel lost" aria-label="Lost" aria-live="polite">
        <h2>${visibleLine(grid.rows[this.#at.row] ?? "")} → ${visibleLine(grid.columns[this.#at.column] ?? "")}</h2>
        ${lost.length ? html`<p>Lost:</p><ul>${lost.map((name) => html`<li class="tag warn">${visibleLine(name)}</li>`)}</ul>` : html`<p>Nothing is lost.</p>`}
      </section>
    `;
  }

  #show(place: Place): void {
    if (place.row === this.#at.row && place.column === this.#at.column) return;
    this.#at = place;
    this.requestUpdate();
  }

  #takeKey(event: KeyboardEvent, grid: Grid): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = grid.next(this.#at, event.key);
    if (place === undefined) return;
    event.preventDefault();
    this.#show(place);
    const cell = this.querySelector<HTMLElement>(`[data-place="${place.row},${place.column}"]`);
    cell?.focus();
    cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Home-made dialects change with the configuration. */
  #takeInfo(): void {
    if (feed.info === this.#info && this.#grid) return;
    this.#info = feed.info;
    void this.#load();
  }

  async #load(): Promise<void> {
    try {
      this.#grid = new Grid(await api.dialects());
      this.#at = this.#grid.within(this.#at);
      this.#problem = "";
    } catch (error) {
      this.#problem = `The dialects could not be read: ${explain(error)}`;
    }
    this.requestUpdate();
  }
}

function sentence(grid: Grid, place: Place): string {
  const pair = `${visibleLine(grid.rows[place.row] ?? "")} to ${visibleLine(grid.columns[place.column] ?? "")}`;
  const lost = grid.lost(place);
  return lost.length
    ? `${lost.length} lost from ${pair}: ${lost.map(visibleLine).join(", ")}`
    : `Nothing is lost from ${pair}`;
}

function heat(lost: number): string {
  if (lost === 0) return "keeps-all";
  return lost > 5 ? "loses-many" : "loses-some";
}

customElements.define("dialects-view", DialectsView);
