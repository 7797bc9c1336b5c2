// The form of an interaction, and the answer to it.

import { html, nothing, type TemplateResult } from "lit";
import { type DataOf, type FormField, type FormModel, formModel } from "../../../../../clients/typescript/src/index.js";
import { PageElement } from "../../shell/page-view.js";
import { visibleLine, visibleText } from "../../text/visible.js";

export type Interaction = DataOf<"interaction">;
export type Action = "submit" | "cancel" | "approve" | "reject";

/** An item of the request's `resume`. */
export interface Reply {
  readonly interaction_id: string;
  readonly action: Action;
  readonly value?: unknown;
  readonly resume?: unknown;
}

const ERRORS: Readonly<Record<string, string>> = {
  required: "is needed",
  type: "has another type",
  minimum: "is too small",
  maximum: "is too large",
  minLength: "is too short",
  maxLength: "is too long",
  pattern: "has another form",
  enum: "is none of the choices",
  json: "is not JSON",
};

/** Fires `reply` with a `Reply` as its detail. */
export class InteractionForm extends PageElement {
  static override properties = { interaction: { attribute: false } };
  declare interaction: Interaction;
  #errors: Readonly<Record<string, string>> = {};

  protected override render(): TemplateResult {
    const { title, description, kind } = this.interaction;
    const form = kind === "approval" ? null : formModel(this.interaction);
    return html`
      <form @submit=${(event: SubmitEvent) => this.#submit(event, form)} novalidate>
        ${title ? html`<h3>${visibleLine(title)}</h3>` : nothing}
        ${description ? html`<p>${visibleText(description)}</p>` : nothing}
        ${kind === "approval" ? approvalButtons(this.#reply) : this.#fields(form)}
      </form>
    `;
  }

  #fields(form: FormModel | null): TemplateResult {
    const fields = form?.fields ?? [];
    return html`
      ${fields.map((field, at) => this.#field(field, at))}
      ${form ? nothing : html`<p class="muted">This kind has no form: the answer has no value.</p>`}
      <div class="toolbar">
        <button class="primary">Submit</button>
        <button type="button" @click=${() => this.#reply("cancel")}>${visibleLine(form?.cancelText ?? "Cancel")}</button>
      </div>
    `;
  }

  #field(field: FormField, at: number): TemplateResult {
    const id = `answer-${at}`;
    const error = this.#errors[field.name];
    const label = visibleLine(field.label || field.name);
    return html`
      <div class="form-field">
        <label for=${id}>${label}</label>
        ${control(field, id, Boolean(error), `${id}-hint`)}
        <span class="form-hint ${error ? "problem" : "muted"}" id=${`${id}-hint`}>${error ? `${label} ${ERRORS[error] ?? "does not fit"}.` : visibleText(field.description ?? "")}</span>
      </div>
    `;
  }

  readonly #reply = (action: Action, value?: unknown): void => {
    const { interaction_id, resume } = this.interaction;
    const detail: Reply = {
      interaction_id,
      action,
      ...(value !== undefined && { value }),
      ...(resume !== undefined && resume !== null && { resume }),
    };
    this.dispatchEvent(new CustomEvent("reply", { detail, bubbles: true }));
  };

  #submit(event: SubmitEvent, form: FormModel | null): void {
    event.preventDefault();
    if (this.interaction.kind === "approval") return;
    const values = form ? valuesOf(event.target as HTMLFormElement, form.fields) : {};
    this.#errors = form?.validate(values) ?? {};
    this.requestUpdate();
    if (Object.keys(this.#errors).length) return this.#focusFirst(form?.fields ?? []);
    this.#reply("submit", form?.value(values));
  }

  #focusFirst(fields: readonly FormField[]): void {
    const at = fields.findIndex(({ name }) => this.#errors[name]);
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(`#answer-${at}`)?.focus());
  }
}

function approvalButtons(reply: (action: Action) => void): TemplateResult {
  return html`
    <div class="toolbar">
      <button type="button" class="primary" @click=${() => reply("approve")}>Approve</button>
      <button type="button" @click=${() => reply("reject")}>Reject</button>
    </div>
  `;
}

function control(field: FormField, id: string, isWrong: boolean, hint: string): TemplateResult {
  const invalid = isWrong ? "true" : "false";
  if (field.type === "boolean")
    return choices(id, [option("", "–"), option(true, "yes"), option(false, "no")], field, invalid, hint);
  if (field.options) {
    const isMany = field.type === "multiselect";
    const given = field.options.map(({ value, label }) => option(value, label));
    return choices(id, isMany ? given : [option("", "–"), ...given], field, invalid, hint);
  }
  const text = field.defaultValue === null ? "" : asText(field.defaultValue);
  if (field.type === "textarea" || field.type === "json") {
    return html`<textarea id=${id} rows="3" aria-invalid=${invalid} aria-describedby=${hint} .value=${text}></textarea>`;
  }
  return html`<input id=${id} type=${INPUTS[field.type] ?? "text"} step="any" aria-invalid=${invalid} aria-describedby=${hint} .value=${text}>`;
}

const INPUTS: Readonly<Record<string, string>> = {
  number: "number",
  integer: "number",
  date: "date",
  email: "email",
  url: "url",
};

interface Option {
  readonly value: string;
  readonly label: string;
}

function option(value: unknown, label: string): Option {
  return { value: value === "" ? "" : JSON.stringify(value), label };
}

function choices(
  id: string,
  options: readonly Option[],
  field: FormField,
  invalid: string,
  hint: string,
): TemplateResult {
  const initial = [field.defaultValue].flat().map((value) => JSON.stringify(value));
  return html`
    <select id=${id} ?multiple=${field.type === "multiselect"} aria-invalid=${invalid} aria-describedby=${hint}>
      ${options.map(({ value, label }) => html`<option value=${value} ?selected=${initial.includes(value)}>${visibleLine(label)}</option>`)}
    </select>
  `;
}

/** Returns the values that were entered; choices with the types that they have in the schema. */
function valuesOf(form: HTMLFormElement, fields: readonly FormField[]): Record<string, unknown> {
  const entered = fields.map((field, at): [string, unknown] => {
    const element = form.querySelector<HTMLInputElement | HTMLSelectElement>(`#answer-${at}`);
    if (!(element instanceof HTMLSelectElement)) return [field.name, element?.value ?? ""];
    const chosen = [...element.selectedOptions]
      .filter(({ value }) => value)
      .map(({ value }) => JSON.parse(value) as unknown);
    return [field.name, field.type === "multiselect" ? chosen : chosen[0]];
  });
  return Object.fromEntries(entered);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

customElements.define("interaction-form", InteractionForm);
