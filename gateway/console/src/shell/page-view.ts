// The base of all elements. They render into the document and not into a shadow tree: labels,
// aria-activedescendant and the one stylesheet do not cross into shadow trees.

import { LitElement } from "lit";
import type { Params } from "./view.js";

export class PageElement extends LitElement {
  protected override createRenderRoot(): this {
    return this;
  }
}

/** A view of the page; the shell sets the parameters of its path. */
export class PageView extends PageElement {
  static override properties = { params: { attribute: false } };
  declare params: Params;

  constructor() {
    super();
    this.params = {};
  }
}
