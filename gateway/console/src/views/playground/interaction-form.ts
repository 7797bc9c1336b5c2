// The form of an interaction, and the answer to it.

import { html, nothing, type TemplateResult } from "lit";
import { type DataOf, type FormField, formModel } from "../../../../../clients/typescript/src/index.js";
import { PageElement } from "../../shell/page-view.js";
import { visibleLine, visibleText } from "../../text/visible.js";
import { partsOf } from "./schema-parts.js";

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

/** Fires `reply` with a list of `Reply` as its detail: an answer to each of the interactions. */
export class InteractionForm extends PageElement {
  static override properties = { interactions: { attribute: false } };
  declare interactions: readonly Interaction[];
  /** What is wrong with a field, by the id of its element. */
  #errors: Readonly<Record<string, string>> = {};

  protected override render(): TemplateResult {
    const cancelText = formModel(this.interactions[0] as Interaction)?.cancelText ?? "Cancel";
    return html`
      <form @submit=${(event: SubmitEvent) => this.#submit(event)} novalidate>
        ${this.interactions.map((interaction, at) => this.#one(interaction, at))}
        <div class="toolbar">
          <button class="primary">Submit</button>
          <button type="button" @click=${() => this.#fire(this.interactions.map(declined))}>${visibleLine(cancelText)}</button>
        </div>
      </form>
    `;
  }

  #one(interaction: Interaction, at: number): TemplateResult {
    const { title, description, kind } = interaction;
    const model = formModel(interaction);
    return html`
      ${title ? html`<h3>${visibleLine(title)}</h3>` : nothing}
      ${description ? html`<p>${visibleText(description)}</p>` : nothing}
      ${kind === "approval" ? this.#decision(idOf(at, 0)) : (model?.fields ?? []).map((field, n) => this.#field(field, idOf(at, n), schemaOf(interaction, field)))}
      ${model ? nothing : html`<p class="muted">This kind has no form: the answer has no value.</p>`}
    `;
  }

  /** A decision is never made beforehand. */
  #decision(id: string): TemplateResult {
    const error = this.#errors[id];
    const radio = (label: string, value: boolean) =>
      html`<label><input type="radio" name=${id} value=${String(value)}> ${label}</label>`;
    return html`
      <fieldset class="form-decision" id=${id} tabindex="-1" aria-describedby=${`${id}-hint`}>
        <legend class="sr">Decision</legend>${radio("Approve", true)} ${radio("Reject", false)}
      </fieldset>
      <span class="form-hint problem" id=${`${id}-hint`}>${error ? "A decision is needed." : ""}</span>
    `;
  }

  #field(field: FormField, id: string, schema: unknown): TemplateResult {
    const error = this.#errors[id];
    const label = visibleLine(field.label || field.name);
    return html`
      <div class="form-field">
        <label for=${id}>${label}</label>
        ${control(field, id, Boolean(error), `${id}-hint`)}
        <span class="form-hint ${error ? "problem" : "muted"}" id=${`${id}-hint`}>${error ? `${label} ${ERRORS[error] ?? "does not fit"}.` : visibleText(hintOf(field, schema))}</span>
      </div>
    `;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const errors: Record<string, string> = {};
    const replies = this.interactions.map((interaction, at) => {
      const model = formModel(interaction);
      const values = valuesOf(form, interaction, model?.fields ?? [], at);
      const wrong = model?.validate(values) ?? {};
      for (const [n, { name }] of (model?.fields ?? []).entries()) {
        if (Object.hasOwn(wrong, name)) errors[idOf(at, n)] = wrong[name] ?? "";
      }
      return submitted(interaction, model?.value(values));
    });
    this.#errors = errors;
    this.requestUpdate();
    const [first] = Object.keys(errors);
    if (first === undefined) this.#fire(replies);
    else void this.updateComplete.then(() => document.getElementById(first)?.focus());
  }

  #fire(detail: readonly Reply[]): void {
    this.dispatchEvent(new CustomEvent("reply", { detail, bubbles: true }));
  }
}

/** The field's description; a list or an object is entered as JSON, which is said before it is wrong. */
function hintOf({ description, type }: FormField, schema: unknown): string {
  const parts = type === "json" ? partsOf(schema) : "";
  const format = type === "json" ? `Written as JSON${parts && `, with ${parts}`}.` : "";
  return [description, format].filter(Boolean).join(" ");
}

/** Returns the schema of a field; that of the whole form where the form is one field. */
function schemaOf({ schema }: Interaction, { name }: FormField): unknown {
  const properties = (schema as { properties?: Readonly<Record<string, unknown>> } | null | undefined)?.properties;
  return properties && Object.hasOwn(properties, name) ? properties[name] : schema;
}

function idOf(interaction: number, field: number): string {
  return `answer-${interaction}-${field}`;
}

function replyTo({ interaction_id, resume }: Interaction, action: Action): Reply {
  return { interaction_id, action, ...(resume !== undefined && resume !== null && { resume }) };
}

function submitted(interaction: Interaction, value: unknown): Reply {
  if (interaction.kind === "approval") return replyTo(interaction, value === true ? "approve" : "reject");
  return { ...replyTo(interaction, "submit"), ...(value !== undefined && { value }) };
}

function declined(interaction: Interaction): Reply {
  return replyTo(interaction, interaction.kind === "approval" ? "reject" : "cancel");
}

function control(field: FormField, id: string, isWrong: boolean, hint: string): TemplateResult {
  const invalid = isWrong ? "true" : "false";
  if (field.type === "boolean") {
    return html`<input id=${id} type="checkbox" ?checked=${field.defaultValue === true} aria-invalid=${invalid} aria-describedby=${hint}>`;
  }
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
  datetime: "datetime-local",
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
function valuesOf(
  form: HTMLFormElement,
  { kind }: Interaction,
  fields: readonly FormField[],
  at: number,
): Record<string, unknown> {
  if (kind === "approval") {
    const chosen = form.querySelector<HTMLInputElement>(`#${idOf(at, 0)} input:checked`);
    return { approved: chosen?.value ?? "" };
  }
  return Object.fromEntries(
    fields.map((field, n) => [field.name, enteredIn(form.querySelector(`#${idOf(at, n)}`), field)]),
  );
}

function enteredIn(element: Element | null, field: FormField): unknown {
  if (element instanceof HTMLInputElement) return element.type === "checkbox" ? element.checked : element.value;
  if (element instanceof HTMLTextAreaElement) return element.value;
  if (!(element instanceof HTMLSelectElement)) return "";
  const options = [...element.selectedOptions].filter(({ value }) => value);
  const chosen = options.map(({ value }) => JSON.parse(value) as unknown);
  return field.type === "multiselect" ? chosen : chosen[0];
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

customElements.define("interaction-form", InteractionForm);
