// A small plot without axes.

import uPlot from "uplot";
import type { Plots } from "../../data/rows.js";

export interface Curves {
  /** Unix seconds. */
  readonly t: readonly number[];
  readonly series: readonly (readonly (number | null)[])[];
}

interface Options {
  /** Bars; of series that lie on each other the highest is drawn first. */
  readonly isBars?: boolean;
  /** Most seconds have no number: points are joined across them. */
  readonly isSparse?: boolean;
}

const HEIGHT = 36;
const BAR_WIDTH = [0.9, 12] as const;

export class Sparkline {
  readonly #colors: readonly string[];
  readonly #read: (plots: Plots) => Curves;
  readonly #options: Options;
  #plot: uPlot | undefined;
  #box: HTMLElement | undefined;

  /** @param colors names of custom properties, one a series. */
  constructor(colors: readonly string[], read: (plots: Plots) => Curves, options: Options = {}) {
    this.#colors = colors;
    this.#read = read;
    this.#options = options;
  }

  /** Draws the numbers into a box. */
  draw(box: HTMLElement, plots: Plots): void {
    const width = box.clientWidth;
    if (width === 0) return;
    const { t, series } = this.#read(plots);
    const data = [t, ...(this.#options.isBars ? series.toReversed() : series)] as uPlot.AlignedData;
    if (!this.#plot || this.#box !== box) {
      this.forget();
      this.#plot = new uPlot(this.#shape(box, width), data, box);
      this.#box = box;
      return;
    }
    if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
    this.#plot.setData(data);
  }

  /** Drops what was drawn, so that the next drawing takes the present colours. */
  forget(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  #shape(box: HTMLElement, width: number): uPlot.Options {
    const style = getComputedStyle(box);
    const colors = this.#colors.map((name) => style.getPropertyValue(name).trim());
    if (this.#options.isBars) colors.reverse();
    return {
      width,
      height: HEIGHT,
      pxAlign: false,
      padding: [3, 0, 1, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [{ show: false }, { show: false }],
      scales: { x: { time: false }, y: { range: (_plot, _min, max) => [0, Math.max(1, max || 0) * 1.05] } },
      series: [{}, ...colors.map((color) => this.#series(color))],
    };
  }

  #series(color: string): uPlot.Series {
    if (this.#options.isBars) {
      const paths = uPlot.paths.bars?.({ size: [...BAR_WIDTH], align: 1 });
      return { stroke: color, fill: color, width: 0, points: { show: false }, ...(paths && { paths }) };
    }
    const isSparse = this.#options.isSparse ?? false;
    const points = { show: isSparse, size: 3, fill: color };
    return { stroke: color, width: 1.25, spanGaps: isSparse, points, ...(!isSparse && { fill: `${color}26` }) };
  }
}
