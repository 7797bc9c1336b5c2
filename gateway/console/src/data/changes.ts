// Objects that elements watch.

import type { ReactiveController, ReactiveControllerHost } from "lit";

/** Tells listeners that it has changed. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  /** Calls a function after each change. Returns a function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Renders an element again after each change of an object, as long as the element is in the document. */
export class Watch implements ReactiveController {
  readonly #changes: Changes;
  readonly #onChange: () => void;
  #end: (() => void) | undefined;

  constructor(host: ReactiveControllerHost, changes: Changes, onChange: () => void = () => host.requestUpdate()) {
    this.#changes = changes;
    this.#onChange = onChange;
    host.addController(this);
  }

  hostConnected(): void {
    this.#end = this.#changes.subscribe(this.#onChange);
    this.#onChange();
  }

  hostDisconnected(): void {
    this.#end?.();
  }
}
