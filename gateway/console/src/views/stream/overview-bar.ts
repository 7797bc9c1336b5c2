// The whole stream on one line: when something came and went, and the silences in true proportion.

import { html, type PropertyValues, type TemplateResult } from "lit";
import type { Capture } from "../../capture/capture.js";
import { itemKind } from "../../capture/item-text.js";
import type { Item } from "../../capture/shapes.js";
import { PageElement } from "../../shell/page-view.js";
import { count, duration } from "../../text/format.js";
import { firstAt } from "./selection.js";

const HEIGHT = 34;
const LANES = [
  { lane: "read", color: "--edge", y: 3 },
  { lane: "event", color: "--accent", y: 13 },
  { lane: "write", color: "--good", y: 23 },
] as const;
const TONES: Readonly<Record<string, string>> = { error: "--bad", warning: "--warn" };

class OverviewBar extends PageElement {
  static override properties = {
    capture: { attribute: false },
    chosen: { attribute: false },
    size: { attribute: false },
    choose: { attribute: false },
  };
  declare capture: Capture;
  declare chosen: Item | undefined;
  /** The number of lines: another one draws it again. */
  declare size: number;
  declare choose: (item: Item) => void;
  readonly #resized = new ResizeObserver(() => this.#draw());
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #redraw = () => this.#draw();

  override connectedCallback(): void {
    super.connectedCallback();
    this.#resized.observe(this);
    this.#dark.addEventListener("change", this.#redraw);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized.disconnect();
    this.#dark.removeEventListener("change", this.#redraw);
  }

  protected override render(): TemplateResult {
    const { items, duration: ms } = this.capture;
    const words = `${count(items.event.length)} events in ${duration(ms)}`;
    return html`<canvas role="img" aria-label=${`Timeline: ${words}`} title=${words} @click=${this.#onClick}></canvas>`;
  }

  protected override updated(_changed: PropertyValues): void {
    this.#draw();
  }

  get #span(): number {
    return Math.max(1, this.capture.duration);
  }

  #draw(): void {
    const canvas = this.querySelector("canvas");
    const width = this.clientWidth;
    const context = canvas?.getContext("2d");
    if (!canvas || !context || width === 0) return;
    const ratio = devicePixelRatio;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    context.scale(ratio, ratio);
    const style = getComputedStyle(this);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const x = (t: number) => 1 + (t / this.#span) * (width - 3);
    for (const { lane, color: name, y } of LANES)
      this.#drawLane(context, this.capture.items[lane], x, y, color(name), color);
    if (this.chosen) {
      context.fillStyle = color("--ink");
      context.fillRect(x(this.chosen.t) - 0.5, 0, 1.5, HEIGHT);
    }
  }

  /** Draws a tick for each item; of those that fall on one pixel, one. */
  #drawLane(
    context: CanvasRenderingContext2D,
    items: readonly Item[],
    x: (t: number) => number,
    y: number,
    usual: string,
    color: (name: string) => string,
  ): void {
    let last = Number.NEGATIVE_INFINITY;
    for (const item of items) {
      const tone = item.lane === "event" ? TONES[itemKind(item)] : undefined;
      const at = x(item.t);
      if (at - last < 0.7 && !tone) continue;
      last = at;
      context.fillStyle = tone ? color(tone) : usual;
      context.fillRect(at, tone ? 0 : y, tone ? 2 : 1, tone ? HEIGHT : 8);
    }
  }

  #onClick(event: MouseEvent): void {
    const t = ((event.offsetX - 1) / Math.max(1, this.clientWidth - 3)) * this.#span;
    const { items } = this.capture;
    const lane = items.event.length ? items.event : items.read;
    const after = firstAt(lane, t);
    const [a, b] = [lane[after - 1], lane[after]];
    const nearest = !b || (a && t - a.t < b.t - t) ? a : b;
    if (nearest) this.choose(nearest);
  }
}

customElements.define("overview-bar", OverviewBar);
