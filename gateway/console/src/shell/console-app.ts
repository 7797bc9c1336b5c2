// The frame of the page: navigation, the state of the connection, the view of the address, keys.

import { html, nothing, type TemplateResult } from "lit";
import { Watch } from "../data/changes.js";
import { feed } from "../data/feed.js";
import { session } from "../data/session.js";
import { keysDialog } from "./keys-dialog.js";
import { PageElement, type PageView } from "./page-view.js";
import { router } from "./routing.js";
import { tokenForm } from "./token-form.js";
import { type View, views } from "./view.js";

/** Ms in which the second key of a pair has to follow. */
const PAIR_MS = 1_000;

class ConsoleApp extends PageElement {
  #view: View | undefined;
  #element: PageView | undefined;
  #failure = "";
  #gAt = 0;

  constructor() {
    super();
    new Watch(this, session);
    new Watch(this, feed);
    new Watch(this, router, () => void this.#open());
    document.addEventListener("keydown", (event) => this.#takeKey(event));
    feed.start();
  }

  protected override render(): TemplateResult {
    return html`
      <header class="top">
        <a class="brand" href="/" aria-label="streamweir, to Live">streamweir</a>
        <nav aria-label="Views">${views.map((view) => this.#link(view))}</nav>
        <button class="quiet keys-button" aria-label="Shortcuts" title="Shortcuts (?)" @click=${() => this.#showKeys()}>?</button>
        ${this.#connection()}
      </header>
      ${this.#notice()}
      <main id="main" tabindex="-1">${session.token === null ? tokenForm() : this.#outlet()}</main>
      ${keysDialog(this.#view?.keys ?? [])}
    `;
  }

  #link(view: View): TemplateResult | typeof nothing {
    if (view.link === undefined) return nothing;
    return html`<a href=${view.path} aria-current=${view === this.#view ? "page" : nothing}>${view.link}</a>`;
  }

  #connection(): TemplateResult {
    return html`
      <span class="connection" role="status" data-state=${feed.state} aria-label=${`Connection: ${feed.state}`}>
        <span class="dot" aria-hidden="true"></span>${feed.state}
      </span>
    `;
  }

  #notice(): TemplateResult | typeof nothing {
    if (feed.state !== "reconnecting" || !feed.problem || session.token === null) return nothing;
    return html`<p class="notice">${feed.problem} The page shows the last known state and tries again.</p>`;
  }

  #outlet(): TemplateResult | PageView {
    if (this.#failure) return html`<h1>This view cannot be shown</h1><p class="problem">${this.#failure}</p>`;
    if (this.#element) return this.#element;
    return html`<h1>${this.#view ? this.#view.title : "There is no such view"}</h1>`;
  }

  async #open(): Promise<void> {
    const route = router.route;
    document.title = `${route?.view.title ?? "Not found"} · streamweir`;
    if (route && route.view === this.#view && this.#element) {
      this.#element.params = route.params;
      return;
    }
    this.#view = route?.view;
    this.#element = undefined;
    this.#failure = "";
    this.requestUpdate();
    if (!route) return;
    try {
      await route.view.load();
    } catch {
      this.#failure = "A part of the page could not be loaded. Reload the page.";
    }
    if (this.#view !== route.view) return;
    if (!this.#failure) {
      this.#element = document.createElement(route.view.element) as PageView;
      this.#element.params = router.route?.params ?? {};
    }
    this.requestUpdate();
    await this.updateComplete;
    // What was focused is gone with the view before: keys and readers go on in the new one.
    if (document.activeElement === document.body)
      this.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
  }

  #showKeys(): void {
    const dialog = this.querySelector<HTMLDialogElement>("dialog.keys");
    if (dialog && !dialog.open) dialog.showModal();
  }

  #takeKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const isWriting = takesText(event.target);
    if (event.key === "Escape") {
      if (isWriting) (event.target as HTMLElement).blur();
      else router.back();
    } else if (!isWriting && this.#takeLetter(event.key)) event.preventDefault();
  }

  #takeLetter(key: string): boolean {
    const now = performance.now();
    const target =
      now - this.#gAt < PAIR_MS ? views.find((view) => view.link?.toLowerCase().startsWith(key)) : undefined;
    this.#gAt = key === "g" ? now : 0;
    if (target) router.go(target.path);
    else if (key === "?") this.#showKeys();
    else if (key === "/") {
      const field = this.querySelector<HTMLInputElement>("main input[type=search]");
      field?.focus();
      field?.select();
      return field !== null;
    } else return false;
    return true;
  }
}

/** Whether keys that are pressed there write text. */
function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["button", "checkbox", "radio", "file"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

customElements.define("console-app", ConsoleApp);
