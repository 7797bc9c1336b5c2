// Configuration: the values in force, where each was written, and the state of the upstreams.

import "./config.css";
import { html, nothing, type TemplateResult } from "lit";
import { api, explain } from "../../data/api.js";
import { Watch } from "../../data/changes.js";
import type { Configuration } from "../../data/config.js";
import { feed } from "../../data/feed.js";
import type { Info } from "../../data/rows.js";
import { PageView } from "../../shell/page-view.js";
import { configState } from "./config-state.js";
import { upstreamTable } from "./upstream-table.js";
import { matchingValues, valueTable } from "./value-table.js";

/** Ms between two questions: breakers and the file on disk change without a row or an info. */
const REFRESH_MS = 4_000;

class ConfigView extends PageView {
  #config: Configuration | undefined;
  #info: Info | undefined;
  #problem = "";
  #text = "";
  #isFromFile = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    new Watch(this, feed, () => this.#takeInfo());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setInterval(() => document.hidden || void this.#load(), REFRESH_MS);
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  protected override render(): TemplateResult {
    const config = this.#config;
    return html`
      <h1>Configuration</h1>
      ${this.#problem ? html`<p class="problem" role="alert">${this.#problem}</p>` : nothing}
      ${config ? this.#shown(config) : html`<p class="muted">Asking the gateway for its configuration …</p>`}
    `;
  }

  #shown(config: Configuration): TemplateResult {
    const values = matchingValues(config.values, this.#text, this.#isFromFile);
    return html`
      ${configState(config)}
      ${upstreamTable(config.upstreams)}
      <section class="panel config-values" aria-label="Values in force">
        <div class="toolbar">
          <h2>Values</h2>
          <label class="sr" for="filter-values">Filter the values</label>
          <input id="filter-values" type="search" placeholder="Filter: path, value, origin" spellcheck="false" autocomplete="off"
            .value=${this.#text} @input=${(event: Event) => this.#filter((event.target as HTMLInputElement).value)}>
          <label><input type="checkbox" .checked=${this.#isFromFile} @change=${() => this.#toggle()}> only from the file</label>
          <span class="muted config-count">${values.length} of ${config.values.length}</span>
        </div>
        ${valueTable(values, this.#text)}
      </section>
    `;
  }

  #filter(text: string): void {
    this.#text = text;
    this.requestUpdate();
  }

  #toggle(): void {
    this.#isFromFile = !this.#isFromFile;
    this.requestUpdate();
  }

  /** Asks again if the configuration changed, or a reload was refused. */
  #takeInfo(): void {
    if (feed.info === this.#info) return;
    this.#info = feed.info;
    if (this.isConnected) void this.#load();
  }

  async #load(): Promise<void> {
    try {
      this.#config = await api.config();
      this.#problem = "";
    } catch (error) {
      this.#problem = `The configuration could not be read: ${explain(error)}`;
    }
    this.requestUpdate();
  }
}

customElements.define("config-view", ConfigView);
