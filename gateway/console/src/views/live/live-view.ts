// Live: the streams as they begin, run and end.

import "./live.css";
import "./stream-table.js";
import "./plot-strip.js";
import { html, type TemplateResult } from "lit";
import { Watch } from "../../data/changes.js";
import { feed } from "../../data/feed.js";
import { PageView } from "../../shell/page-view.js";
import { router } from "../../shell/routing.js";
import { count } from "../../text/format.js";
import { fileField, takesFiles } from "../stream/file-field.js";
import { filterBar } from "./filter-bar.js";
import { EVERY_ROW, filterOf, matching, queryOf, type RowFilter } from "./row-filter.js";

/** The filter, which stays while another view is open. */
let lastQuery = new URLSearchParams();

class LiveView extends PageView {
  #filter: RowFilter = EVERY_ROW;
  #pausedAt = 0;
  #endDrops: (() => void) | undefined;
  readonly #clock = () => (this.#pausedAt || Date.now()) + feed.clockOffset;
  readonly #onKey = (event: KeyboardEvent) => this.#takeKey(event);

  constructor() {
    super();
    new Watch(this, feed);
    new Watch(this, feed.rows);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const given = new URLSearchParams(location.search);
    this.#filter = filterOf(given.size ? given : lastQuery);
    router.replaceQuery(queryOf(this.#filter));
    document.addEventListener("keydown", this.#onKey);
    this.#endDrops = takesFiles(() => undefined);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("keydown", this.#onKey);
    this.#endDrops?.();
    lastQuery = queryOf(this.#filter);
    feed.resume();
  }

  protected override render(): TemplateResult {
    const rows = matching(feed.rows.rows, this.#filter);
    const all = feed.rows.rows.length;
    const isPaused = feed.state === "paused";
    return html`
      <div class="live-top toolbar">
        <h1>Live</h1>
        <div class="live-filters toolbar">
          ${filterBar(this.#filter, (filter) => this.#setFilter(filter))}
          <button @click=${() => this.#togglePause()}>${isPaused ? "Resume" : "Pause"}</button>
          ${fileField(() => undefined)}
          <span class="muted live-count">${rows.length === all ? count(all) : `${count(rows.length)} of ${count(all)}`}</span>
        </div>
      </div>
      <plot-strip></plot-strip>
      <stream-table class="panel" .rows=${rows} .clock=${this.#clock} .empty=${this.#emptiness(all)}></stream-table>
    `;
  }

  #emptiness(all: number): TemplateResult {
    if (all > 0) {
      return html`<p>None of the ${count(all)} streams matches.</p>
        <button @click=${() => this.#setFilter(EVERY_ROW)}>Clear the filters</button>`;
    }
    if (feed.rows.isLoaded) {
      return html`<p>No streams yet: no request has come since the gateway started.</p>
        <p>Send one to an endpoint, or <a href="/playground">try the playground</a>.</p>`;
    }
    if (feed.problem) return html`<p>Not connected: ${feed.problem}</p>`;
    return html`<p>Not connected yet: asking the gateway for its streams …</p>`;
  }

  #setFilter(filter: RowFilter): void {
    this.#filter = filter;
    router.replaceQuery(queryOf(filter));
    this.requestUpdate();
  }

  #togglePause(): void {
    if (feed.state === "paused") {
      this.#pausedAt = 0;
      feed.resume();
    } else {
      this.#pausedAt = Date.now();
      feed.pause();
    }
  }

  #takeKey(event: KeyboardEvent): void {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented;
    if (event.key !== "p" || !isPlain || (event.target instanceof HTMLElement && event.target.matches("input, select")))
      return;
    this.#togglePause();
  }
}

customElements.define("live-view", LiveView);
