// The fields of a request: endpoint, protocol, framing, path, message, body, key.

import { html, nothing, type TemplateResult } from "lit";
import type { Endpoint } from "../../data/rows.js";
import { visibleLine } from "../../text/visible.js";
import { DEMO_WAYS, type DemoWay, FRAMINGS, namesIn } from "./call.js";

/** The fields as they are. */
export interface Fields {
  readonly endpoint: string;
  readonly protocol: string;
  readonly framing: string;
  readonly message: string;
  readonly way: DemoWay;
  readonly path: Readonly<Record<string, string>>;
  /** JSON that was written by hand; null: it is made of the message. */
  readonly body: string | null;
  readonly key: string;
}

type OnChange = (change: Partial<Fields>) => void;

export function callForm(
  fields: Fields,
  endpoints: readonly Endpoint[],
  endpoint: Endpoint,
  body: string,
  onChange: OnChange,
): TemplateResult {
  return html`
    <div class="toolbar">
      ${choice(
        "Endpoint",
        fields.endpoint,
        endpoints.map(({ path }) => path),
        (value) => onChange({ endpoint: value }),
      )}
      ${choice("Protocol", fields.protocol, endpoint.answers, (protocol) => onChange({ protocol }))}
      ${choice("Framing", fields.framing, FRAMINGS, (framing) => onChange({ framing }))}
      ${endpoint.demo ? ways(fields.way, onChange) : nothing}
    </div>
    ${namesIn(endpoint.path).map((name) => pathField(name, fields, onChange))}
    ${endpoint.needs_key ? keyField(fields, onChange) : nothing}
    <div class="play-message">
      <label for="play-message">Message</label>
      <textarea id="play-message" rows="2" .value=${fields.message}
        @input=${(event: Event) => onChange({ message: textOf(event) })} @keydown=${sendOnEnter}></textarea>
    </div>
    <details class="play-body" ?open=${fields.body !== null}>
      <summary>Request body${fields.body === null ? "" : " (written by hand)"}</summary>
      <label class="sr" for="play-body">Body</label>
      <textarea id="play-body" class="mono" rows="8" spellcheck="false" .value=${fields.body ?? body}
        @input=${(event: Event) => onChange({ body: textOf(event) })}></textarea>
      ${fields.body === null ? nothing : html`<button type="button" @click=${() => onChange({ body: null })}>Make it of the message again</button>`}
    </details>
  `;
}

function choice(
  label: string,
  value: string,
  values: readonly string[],
  onChange: (value: string) => void,
): TemplateResult {
  const id = `play-${label.toLowerCase()}`;
  return html`
    <span class="choice">
      <label for=${id}>${label}</label>
      <select id=${id} @change=${(event: Event) => onChange(textOf(event))}>
        ${values.map((one) => html`<option value=${one} .selected=${one === value}>${visibleLine(one)}</option>`)}
      </select>
    </span>
  `;
}

function ways(chosen: DemoWay, onChange: OnChange): TemplateResult {
  return html`
    <fieldset class="play-ways">
      <legend class="sr">What the demo does</legend>
      ${DEMO_WAYS.map(
        (way) => html`
          <label><input type="radio" name="way" value=${way} .checked=${way === chosen} @change=${() => onChange({ way })}> ${way === "answer" ? "Answer" : way}</label>
        `,
      )}
    </fieldset>
  `;
}

function pathField(name: string, fields: Fields, onChange: OnChange): TemplateResult {
  const id = `play-path-${name}`;
  return html`
    <div class="play-line">
      <label for=${id}>${name === "rest" ? "Rest of the path" : visibleLine(name)}</label>
      <input id=${id} .value=${fields.path[name] ?? ""} spellcheck="false"
        @input=${(event: Event) => onChange({ path: { ...fields.path, [name]: textOf(event) } })}>
    </div>
  `;
}

function keyField(fields: Fields, onChange: OnChange): TemplateResult {
  return html`
    <div class="play-line">
      <label for="play-key">Key</label>
      <input id="play-key" type="password" autocomplete="off" spellcheck="false" .value=${fields.key}
        @input=${(event: Event) => onChange({ key: textOf(event) })}>
      <span class="muted">of a caller; it is not stored</span>
    </div>
  `;
}

function sendOnEnter(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  (event.target as HTMLTextAreaElement).form?.requestSubmit();
}

function textOf(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement).value;
}
