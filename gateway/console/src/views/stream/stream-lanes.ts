// The three lanes on one time axis. Only what is in sight is in the document, unless all of it is little.

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Capture } from "../../capture/capture.js";
import { type Group, rowsOf } from "../../capture/groups.js";
import { itemKind, itemLine } from "../../capture/item-text.js";
import { groupAt, type Layout, ROW, SILENCE_ROW } from "../../capture/layout.js";
import { relatedTo } from "../../capture/relations.js";
import { type Item, LANES, type Lane, type Mark } from "../../capture/shapes.js";
import { scrolledTo } from "../../list/window.js";
import { PageElement } from "../../shell/page-view.js";
import { styled } from "../../shell/styled.js";
import { count, duration } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";
import { stepFrom } from "./selection.js";

export const LANE_NAMES: Readonly<Record<Lane, string>> = { read: "Raw", event: "Events", write: "Sent" };
const HEAD = 28;
/** So many rows are all in the document. */
const FEW_ROWS = 500;
const OVERSCAN = 12 * ROW;

class StreamLanes extends PageElement {
  static override properties = {
    capture: { attribute: false },
    layout: { attribute: false },
    chosen: { attribute: false },
    choose: { attribute: false },
  };
  declare capture: Capture;
  declare layout: Layout;
  declare chosen: Item | undefined;
  /** Called with the item that the user chooses. */
  declare choose: (item: Item) => void;
  #top = 0;
  #height = 600;
  readonly #size = new ResizeObserver(() => this.#measure());

  override connectedCallback(): void {
    super.connectedCallback();
    this.#size.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#size.disconnect();
  }

  /** Scrolls so that an item is in sight. */
  reveal(item: Item): void {
    const group = this.capture.groups.of(item);
    if (!group || !this.#box) return;
    const top = (this.layout.tops[group.place] ?? 0) + group[item.lane].indexOf(item) * ROW;
    const target = scrolledTo(this.#box.scrollTop, this.#height - HEAD, top, 3 * ROW, 2 * ROW);
    if (target === this.#box.scrollTop) return;
    this.#box.scrollTop = target;
    this.#onScroll();
  }

  focusLane(lane: Lane): void {
    this.querySelector<HTMLElement>(`.lane-${lane}`)?.focus({ preventScroll: true });
  }

  protected override render(): TemplateResult {
    const { items } = this.capture;
    const groups = this.#visibleGroups();
    return html`
      <div class="lanes" @scroll=${this.#onScroll}>
        <div class="lane-heads" aria-hidden="true">
          <span class="gutter-head">ms</span>
          ${LANES.map((lane) => html`<span>${LANE_NAMES[lane]} <span class="muted">${count(items[lane].length)}</span></span>`)}
        </div>
        <div class="lanes-body" ${styled({ height: `${this.layout.height}px` })}>
          ${groups.map((place) => this.#silence(place))}
          <div class="gutter">${groups.map((place) => this.#times(place))}</div>
          ${LANES.map((lane) => this.#lane(lane, groups))}
        </div>
      </div>
    `;
  }

  #lane(lane: Lane, groups: readonly number[]): TemplateResult {
    const isRelated = relatedTo(this.capture, this.chosen);
    const shown = groups.flatMap((place) => this.#shownItems(place, lane));
    const { chosen } = this;
    const active = chosen?.lane === lane && shown.some(({ item }) => item === chosen) ? domId(chosen) : nothing;
    return html`
      <div class="lane lane-${lane}" role="listbox" aria-label=${LANE_NAMES[lane]} aria-multiselectable="true" tabindex="0"
        aria-activedescendant=${active} @keydown=${(event: KeyboardEvent) => this.#onKey(event, lane)}>
        ${repeat(
          shown,
          ({ item }) => item.index,
          ({ item, top }) => this.#option(item, top, isRelated(item)),
        )}
      </div>
    `;
  }

  #option(item: Item, top: number, isSelected: boolean): TemplateResult {
    const kind = itemKind(item);
    return html`<div role="option" class="item" id=${domId(item)} data-t=${item.t} data-n=${item.n} data-read=${item.read ?? nothing}
      data-kind=${kind || nothing} aria-selected=${isSelected} aria-setsize=${this.capture.items[item.lane].length} aria-posinset=${item.index + 1}
      ${styled({ top: `${top}px` })} @click=${() => this.#take(item)}>${
        kind ? html`<b>${visibleLine(kind)}</b> ` : nothing
      }${visibleLine(itemLine(item))}</div>`;
  }

  #times(place: number): TemplateResult {
    const group = this.#group(place);
    const top = this.layout.tops[place] ?? 0;
    const marks = group.marks.filter((mark) => !this.#isShownSilence(place, mark));
    return html`
      <span class="time" ${styled({ top: `${top}px` })}>${count(Math.round(group.t))}</span>
      ${marks.map((mark, row) => this.#mark(mark, top + row * ROW))}
    `;
  }

  #mark(mark: Mark, top: number): TemplateResult {
    const length = mark.ms === undefined ? "" : duration(mark.ms);
    const text = visibleLine([mark.what, length, mark.text].filter(Boolean).join(" "));
    return html`<button class="mark" tabindex="-1" data-mark=${mark.what} title=${text} ${styled({ top: `${top + 1}px` })}
      @click=${() => mark.target && this.#take(mark.target)}>${text}</button>`;
  }

  #silence(place: number): TemplateResult | typeof nothing {
    const ms = this.layout.silences[place] ?? 0;
    if (ms === 0) return nothing;
    const isMarked = this.#group(place).marks.some((mark) => this.#isShownSilence(place, mark));
    const top = (this.layout.tops[place] ?? 0) - SILENCE_ROW;
    return html`<div class="silence" data-mark=${isMarked ? "silence" : nothing} ${styled({ top: `${top}px` })}>
      <span>${duration(ms)} of silence</span></div>`;
  }

  /** Whether the line of the silence before a group says what a mark says. */
  #isShownSilence(place: number, mark: Mark): boolean {
    const ms = this.layout.silences[place] ?? 0;
    return mark.what === "silence" && ms > 0 && (mark.ms === undefined || Math.abs(mark.ms - ms) <= 0.1 * ms + 5);
  }

  #visibleGroups(): number[] {
    const { tops, height } = this.layout;
    const isAll = height <= FEW_ROWS * ROW;
    const first = isAll ? 0 : groupAt(tops, this.#top - OVERSCAN);
    const groups: number[] = [];
    for (let place = first; place < tops.length; place++) {
      if (!isAll && (tops[place] ?? 0) > this.#top + this.#height + OVERSCAN) break;
      groups.push(place);
    }
    return groups;
  }

  /** The items of a group that are in sight: one read may have brought thousands. */
  #shownItems(place: number, lane: Lane): { item: Item; top: number }[] {
    const group = this.#group(place);
    const top = this.layout.tops[place] ?? 0;
    const isAll = this.layout.height <= FEW_ROWS * ROW || rowsOf(group) < 40;
    const from = isAll ? 0 : Math.max(0, Math.floor((this.#top - OVERSCAN - top) / ROW));
    const to = isAll ? undefined : Math.max(0, Math.ceil((this.#top + this.#height + OVERSCAN - top) / ROW));
    return group[lane].slice(from, to).map((item, row) => ({ item, top: top + (from + row) * ROW }));
  }

  #group(place: number): Group {
    return this.capture.groups.all[place] as Group;
  }

  get #box(): HTMLElement | null {
    return this.querySelector(".lanes");
  }

  #measure(): void {
    this.#height = this.#box?.clientHeight || this.#height;
    if (this.chosen) this.reveal(this.chosen);
    this.requestUpdate();
  }

  #onScroll(): void {
    const top = this.#box?.scrollTop ?? 0;
    if (top === this.#top) return;
    this.#top = top;
    this.requestUpdate();
  }

  #take(item: Item): void {
    this.choose(item);
    this.focusLane(item.lane);
  }

  #onKey(event: KeyboardEvent, lane: Lane): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = stepFrom(this.capture, this.chosen, lane, event.key);
    if (!item) return;
    event.preventDefault();
    this.choose(item);
    if (item.lane !== lane) this.focusLane(item.lane);
  }
}

function domId(item: Item): string {
  return `${item.lane}-${item.index}`;
}

customElements.define("stream-lanes", StreamLanes);

export type { StreamLanes };
