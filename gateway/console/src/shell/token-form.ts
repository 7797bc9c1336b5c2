// The question for the console's token.

import { html, type TemplateResult } from "lit";
import { session } from "../data/session.js";

function submit(event: SubmitEvent): void {
  event.preventDefault();
  const field = (event.target as HTMLFormElement).elements.namedItem("token") as HTMLInputElement;
  const token = field.value.trim();
  if (token) session.accept(token);
}

export function tokenForm(): TemplateResult {
  return html`
    <form class="token-form" @submit=${submit}>
      <h1>Open the console</h1>
      <p>The console needs its token. The gateway prints an address that holds it when it starts; a token of your own is in its file, <code>console.token</code>.</p>
      <label for="token">Token</label>
      <div class="token-line">
        <input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required autofocus aria-describedby="token-problem">
        <button type="submit" class="primary">Open</button>
      </div>
      <p id="token-problem" class="problem" role="alert">${session.problem}</p>
    </form>
  `;
}
