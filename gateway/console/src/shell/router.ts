// Paths of the history, and the views that they name.

import { Changes } from "../data/changes.js";
import { matchPath } from "./match-path.js";
import type { Params, View } from "./view.js";

export interface Route {
  readonly view: View;
  readonly params: Params;
}

/** Follows the address, and the links of the page without loading it anew. */
export class Router extends Changes {
  readonly #views: readonly View[];
  /** How many steps of the history are the page's own: Escape goes back among them. */
  #depth = 0;

  constructor(views: readonly View[]) {
    super();
    this.#views = views;
    this.#depth = Number(history.state?.depth ?? 0);
    addEventListener("popstate", () => this.#follow());
    document.addEventListener("click", (event) => this.#takeClick(event));
  }

  /** The route of the address; undefined: no view has this path. */
  get route(): Route | undefined {
    for (const view of this.#views) {
      const params = matchPath(view.path, location.pathname);
      if (params !== undefined) return { view, params };
    }
    return undefined;
  }

  go(path: string): void {
    history.pushState({ depth: this.#depth + 1 }, "", path);
    this.#follow();
  }

  /** Changes the query of the address in its place. */
  replaceQuery(query: URLSearchParams): void {
    const text = query.toString();
    history.replaceState(history.state, "", location.pathname + (text && `?${text}`));
  }

  /** Goes back to the view before; from the first one of this tab, to the front. */
  back(): void {
    if (this.#depth > 0) history.back();
    else if (location.pathname !== "/") {
      history.replaceState({ depth: 0 }, "", "/");
      this.#follow();
    }
  }

  #follow(): void {
    this.#depth = Number(history.state?.depth ?? 0);
    this.notify();
  }

  #takeClick(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.target || link.download) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}
