// The plots above the table: the last fifteen minutes of all streams together.

import { html, type TemplateResult } from "lit";
import { Watch } from "../../data/changes.js";
import { feed } from "../../data/feed.js";
import type { Plots } from "../../data/rows.js";
import { PageElement } from "../../shell/page-view.js";
import { duration } from "../../text/format.js";
import { visibleLine } from "../../text/visible.js";
import { lastOf, rateOf, reasonCounts, smoothed, stacked } from "./plot-numbers.js";
import { Sparkline } from "./sparkline.js";

interface Tile {
  readonly name: string;
  /** The newest value, in words. */
  value(plots: Plots): string;
  readonly plot: Sparkline;
}

const TILES: readonly Tile[] = [
  {
    name: "Streams per second",
    value: (plots) => rateOf(plots.started),
    plot: new Sparkline(["--accent"], ({ t, started }) => ({ t, series: [smoothed(started)] })),
  },
  {
    name: "Open streams",
    value: (plots) => String(lastOf(plots.open) ?? 0),
    plot: new Sparkline(["--accent"], ({ t, open }) => ({ t, series: [open] })),
  },
  {
    name: "Time to first event",
    value: (plots) => percentile("p90", lastOf(plots.first_event.p90)),
    plot: new Sparkline(
      ["--edge", "--warn"],
      ({ t, first_event }) => ({ t, series: [first_event.p50, first_event.p90] }),
      {
        isSparse: true,
      },
    ),
  },
  {
    name: "Largest gap",
    value: (plots) => percentile("p99", lastOf(plots.gap.p99)),
    plot: new Sparkline(["--edge", "--warn"], ({ t, gap }) => ({ t, series: [gap.p50, gap.p99] }), { isSparse: true }),
  },
  {
    name: "End reasons",
    value: (plots) =>
      reasonCounts(plots)
        .map(([word, many]) => `${visibleLine(word)} ${many}`)
        .join(", ") || "none ended",
    plot: new Sparkline(["--bad", "--edge", "--good"], stacked, { isBars: true }),
  },
];

function percentile(name: string, value: number | null): string {
  return value === null ? "-" : `${name} ${duration(value)}`;
}

class PlotStrip extends PageElement {
  readonly #size = new ResizeObserver(() => this.#draw());
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #redraw = () => {
    for (const { plot } of TILES) plot.forget();
    this.#draw();
  };

  constructor() {
    super();
    new Watch(this, feed.plots);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#size.observe(this);
    this.#dark.addEventListener("change", this.#redraw);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#size.disconnect();
    this.#dark.removeEventListener("change", this.#redraw);
    for (const { plot } of TILES) plot.forget();
  }

  protected override render(): TemplateResult {
    const { plots } = feed.plots;
    return html`${TILES.map((tile) => {
      const value = tile.value(plots);
      return html`
        <div class="plot panel" role="img" aria-label=${`${tile.name}: ${value}`}>
          <span class="plot-name">${tile.name}</span><span class="plot-value" title=${value}>${value}</span>
          <div class="plot-canvas"></div>
        </div>
      `;
    })}`;
  }

  protected override updated(): void {
    this.#draw();
  }

  #draw(): void {
    for (const [place, box] of this.querySelectorAll<HTMLElement>(".plot-canvas").entries()) {
      TILES[place]?.plot.draw(box, feed.plots.plots);
    }
  }
}

customElements.define("plot-strip", PlotStrip);
