// The conditions on the rows: a text, a state, an endpoint, a reason.

import { html, type TemplateResult } from "lit";
import { feed } from "../../data/feed.js";
import { REASONS, STATES } from "../../data/rows.js";
import { visibleLine } from "../../text/visible.js";
import { ANY_FAILURE, type RowFilter } from "./row-filter.js";

type OnChange = (filter: RowFilter) => void;

/** Returns the fields. `onChange` is called with the filter that a change of a field makes. */
export function filterBar(filter: RowFilter, onChange: OnChange): TemplateResult {
  const rows = feed.rows.rows;
  const endpoints = [...(feed.info?.endpoints.map(({ path }) => path) ?? []), ...rows.map(({ endpoint }) => endpoint)];
  const reasons = [ANY_FAILURE, ...REASONS, ...rows.flatMap(({ reason, code }) => [reason, code])];
  return html`
    <label class="sr" for="filter">Filter</label>
    <input id="filter" type="search" placeholder="Filter: id, endpoint, upstream, reason" spellcheck="false" autocomplete="off"
      .value=${filter.text} @input=${(event: Event) => onChange({ ...filter, text: textOf(event) })} @keydown=${leaveFilter}>
    ${choice("State", filter.state, STATES, (state) => onChange({ ...filter, state }))}
    ${choice("Endpoint", filter.endpoint, endpoints, (endpoint) => onChange({ ...filter, endpoint }))}
    ${choice("Reason", filter.reason, reasons, (reason) => onChange({ ...filter, reason }))}
  `;
}

function choice(
  label: string,
  value: string,
  values: readonly (string | null)[],
  onChange: (value: string) => void,
): TemplateResult {
  const known = new Set(values.filter((one): one is string => Boolean(one)));
  if (value) known.add(value);
  const id = `choose-${label.toLowerCase()}`;
  return html`
    <span class="choice">
      <label for=${id}>${label}</label>
      <select id=${id} @change=${(event: Event) => onChange(textOf(event))}>
        <option value="" ?selected=${!value}>any</option>
        ${[...known].map((one) => html`<option value=${one} ?selected=${one === value}>${visibleLine(one)}</option>`)}
      </select>
    </span>
  `;
}

function textOf(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

/** From the field, the arrow down leads into the table. */
function leaveFilter(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  event.preventDefault();
  document.querySelector<HTMLElement>(".streams")?.focus();
}
