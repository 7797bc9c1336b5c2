// Playground: sends an endpoint what a client would send, and shows the answer as a message and as it came.

import "./playground.css";
import "./interaction-form.js";
import { html, nothing, type TemplateResult } from "lit";
import { Watch } from "../../data/changes.js";
import { feed } from "../../data/feed.js";
import type { Endpoint, Sample } from "../../data/rows.js";
import { copyText } from "../../shell/clipboard.js";
import { PageView } from "../../shell/page-view.js";
import { visibleText } from "../../text/visible.js";
import { Answer, newRequestId } from "./answer.js";
import { answerResult } from "./answer-result.js";
import { bodyWith, type Choices, callOf, curlOf, withFraming, withWay } from "./call.js";
import { callForm, type Fields } from "./call-form.js";
import type { Reply } from "./interaction-form.js";
import { messageBubble } from "./message-bubble.js";

const EMPTY: Fields = {
  endpoint: "",
  protocol: "",
  framing: "sse",
  message: "Which drink sells best?",
  way: "answer",
  path: {},
  body: null,
  key: "",
};

/** The fields, which stay while another view is open; the key does not. */
let lastFields = EMPTY;

class PlaygroundView extends PageView {
  #fields = lastFields;
  #answer: Answer | undefined;
  #problem = "";
  #copied = "";
  #isDrawing = false;

  constructor() {
    super();
    new Watch(this, feed);
    new Watch(this, feed.rows);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    lastFields = { ...this.#fields, key: "" };
    this.#answer?.stop();
  }

  protected override render(): TemplateResult {
    const endpoints = feed.info?.endpoints ?? [];
    const endpoint = this.#endpoint();
    if (!endpoint) {
      const reason = feed.info ? "The configuration has no endpoint." : "Asking the gateway for its endpoints …";
      return html`<h1>Playground</h1><p class="muted">${reason}</p>`;
    }
    const body = JSON.stringify(this.#body(endpoint), null, 2);
    return html`
      <h1>Playground</h1>
      <form class="panel play-form" @submit=${(event: SubmitEvent) => this.#submit(event)}>
        ${callForm(this.#shownFields(endpoint), endpoints, endpoint, body, (change) => this.#change(change))}
        <div class="toolbar">
          <button class="primary">Send</button>
          <button type="button" ?disabled=${!this.#isRunning()} @click=${() => this.#answer?.stop()}>Stop</button>
          <button type="button" @click=${() => void this.#copy()}>Copy as curl</button>
          <span role="status" aria-label="Copied" class="muted">${this.#copied}</span>
          <span class="problem" role="alert">${this.#problem}</span>
        </div>
      </form>
      <div class="play-answer">
        <section class="panel" aria-label="Answer"><h2>Answer</h2><div class="bubble">${this.#bubble()}</div></section>
        <section class="panel" aria-label="Raw answer"><h2>Raw answer</h2><pre class="raw" tabindex="0">${visibleText(this.#answer?.raw ?? "")}</pre></section>
        ${answerResult(this.#answer)}
        ${this.#interaction()}
      </div>
    `;
  }

  #endpoint(): Endpoint | undefined {
    const endpoints = feed.info?.endpoints ?? [];
    return endpoints.find(({ path }) => path === this.#fields.endpoint) ?? endpoints[0];
  }

  /** The fields with choices that the endpoint has. */
  #shownFields(endpoint: Endpoint): Fields {
    const protocol = endpoint.answers.includes(this.#fields.protocol) ? this.#fields.protocol : endpoint.answers[0];
    return { ...this.#fields, endpoint: endpoint.path, protocol: protocol ?? "" };
  }

  #body(endpoint: Endpoint): unknown {
    const fields = this.#shownFields(endpoint);
    const message = endpoint.demo ? withWay(fields.message, fields.way) : fields.message;
    return withFraming(bodyWith(sampleOf(endpoint, fields.protocol), message), fields.framing);
  }

  #choices(endpoint: Endpoint, body: unknown): Choices {
    const { protocol, framing, path, key } = this.#shownFields(endpoint);
    return { endpoint, protocol, framing, path, body, key: endpoint.needs_key ? key : "" };
  }

  #chosen(): Choices | undefined {
    const endpoint = this.#endpoint();
    if (!endpoint) return undefined;
    const written = this.#fields.body;
    return this.#choices(endpoint, written === null ? this.#body(endpoint) : parsed(written));
  }

  #change(change: Partial<Fields>): void {
    const isOther = change.endpoint !== undefined || change.protocol !== undefined;
    this.#fields = { ...this.#fields, ...(isOther && { body: null }), ...change };
    this.#problem = this.#copied = "";
    this.requestUpdate();
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const choices = this.#chosen();
    if (choices) this.#send(choices);
  }

  #send(choices: Choices): void {
    this.#answer?.stop();
    const requestId = newRequestId();
    const answer = new Answer(callOf(choices, requestId), requestId);
    this.#answer = answer;
    answer.subscribe(() => this.#draw());
    void answer.run();
    this.#draw();
  }

  /** Draws at most once per frame, however many pieces come. */
  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      this.requestUpdate();
    }, 40);
  }

  #isRunning(): boolean {
    return this.#answer !== undefined && this.#answer.state !== "ended";
  }

  async #copy(): Promise<void> {
    const choices = this.#chosen();
    if (!choices) return;
    const isCopied = await copyText(curlOf(choices, feed.info?.gateway ?? ""));
    this.#copied = isCopied ? "Copied." : "The browser does not allow it.";
    this.requestUpdate();
  }

  #bubble(): TemplateResult {
    const answer = this.#answer;
    if (!answer) return html`<p class="muted">The answer appears here.</p>`;
    if (answer.status !== null && answer.status >= 400)
      return html`<p class="bubble-note bad">Refused with ${answer.status}.</p>`;
    const isUnread = answer.state === "ended" && answer.folded !== undefined && !answer.message.parts.length;
    return isUnread
      ? html`<div class="bubble-text">${visibleText(JSON.stringify(answer.folded, null, 2))}</div>`
      : messageBubble(answer.message);
  }

  #interaction(): TemplateResult {
    const open = this.#answer?.open ?? [];
    return html`
      <section class="panel" aria-label="Interaction" ?hidden=${!open.length}>
        <h2>Interaction</h2>
        ${open.length ? html`<interaction-form .interactions=${open} @reply=${(event: CustomEvent<Reply[]>) => this.#reply(event.detail)}></interaction-form>` : nothing}
      </section>
    `;
  }

  /** Sends the answers to the interactions in the conversation of the run. */
  #reply(replies: readonly Reply[]): void {
    const choices = this.#chosen();
    const metadata = this.#answer?.message.metadata;
    if (!choices) return;
    const thread = metadata?.threadId ?? metadata?.sessionId;
    const sample = withFraming(sampleOf(choices.endpoint, choices.protocol).body, choices.framing) as Body;
    const kept = Object.entries(sample).filter(([name]) => name === "model" || name === "stream");
    this.#send({
      ...choices,
      body: { ...Object.fromEntries(kept), ...(thread && { thread_id: thread }), resume: replies },
    });
  }
}

type Body = Readonly<Record<string, unknown>>;

function sampleOf(endpoint: Endpoint, protocol: string): Sample {
  return endpoint.samples[protocol] ?? { body: { message: "" }, place: ["message"] };
}

/** Returns JSON that was written by hand, or the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

customElements.define("playground-view", PlaygroundView);
