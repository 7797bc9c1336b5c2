// The console's token: from the fragment of the address, kept for this tab, or asked for.

import { Changes } from "./changes.js";

const KEY = "streamweir-console-token";

/** Returns the token in a fragment like `#token=...`, or null. */
export function tokenOf(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("token") || null;
}

/**
 * States: without a token the page asks for one, with `problem` as the reason; with one it uses it until the console
 * refuses it, and asks again.
 */
class Session extends Changes {
  #token: string | null = null;
  /** Why the page asks for a token; empty: it has none yet. */
  problem = "";

  constructor() {
    super();
    this.#token = sessionStorage.getItem(KEY);
    this.#takeFragment();
    addEventListener("hashchange", () => this.#takeFragment());
  }

  get token(): string | null {
    return this.#token;
  }

  /** Keeps a token for this tab. */
  accept(token: string): void {
    this.#token = token;
    this.problem = "";
    sessionStorage.setItem(KEY, token);
    this.notify();
  }

  /** Forgets a token that was refused. One that was replaced in between stays. */
  refuse(token: string | null, problem: string): void {
    if (token !== this.#token) return;
    this.#token = null;
    this.problem = problem;
    sessionStorage.removeItem(KEY);
    this.notify();
  }

  #takeFragment(): void {
    const token = tokenOf(location.hash);
    if (token === null) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    this.accept(token);
  }
}

export const session = new Session();
