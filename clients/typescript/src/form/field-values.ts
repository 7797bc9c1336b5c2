import type { FieldError, FormField } from "./form-model.js";
import { matches } from "./pattern.js";

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** Why a value does not fit its field; null where it does. An empty one fits unless it is required. */
export function checkField(field: FormField, value: unknown): FieldError | null {
  if (isEmpty(value)) return field.required ? "required" : null;
  switch (field.type) {
    case "boolean":
      return booleanOf(value) === undefined ? "type" : null;
    case "number":
    case "integer":
      return checkNumber(field, numberOf(value));
    case "select":
      return optionOf(field, value) ? null : "enum";
    case "multiselect":
      if (!Array.isArray(value)) return "type";
      return value.every((item) => optionOf(field, item)) ? null : "enum";
    case "json":
      return typeof value === "string" && parsed(value) === undefined ? "json" : null;
    default:
      return typeof value === "string" ? checkText(field, value) : "type";
  }
}

/** What of a value goes out; undefined where the field is left out. */
export function valueOfField(field: FormField, value: unknown): unknown {
  if (isEmpty(value)) return undefined;
  switch (field.type) {
    case "boolean":
      return booleanOf(value) ?? value;
    case "number":
    case "integer":
      return numberOf(value) ?? value;
    case "select":
      return optionOf(field, value)?.value ?? value;
    case "multiselect":
      return Array.isArray(value) ? value.map((item) => optionOf(field, item)?.value ?? item) : value;
    case "json":
      return typeof value === "string" ? parsed(value) : value;
    default:
      return value;
  }
}

function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" ? true : value === "false" ? false : undefined;
}

function numberOf(value: unknown): number | undefined {
  const isText = typeof value === "string" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value.trim());
  const number = isText ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function checkNumber(field: FormField, number: number | undefined): FieldError | null {
  if (number === undefined || (field.type === "integer" && !Number.isInteger(number))) return "type";
  if (field.minimum !== null && number < field.minimum) return "minimum";
  return field.maximum !== null && number > field.maximum ? "maximum" : null;
}

/** The choice that a value is: a page's own elements give every value as text. */
function optionOf({ options }: FormField, value: unknown): { value: unknown } | undefined {
  const known = options ?? [];
  return (
    known.find((option) => option.value === value) ??
    known.find((option) => JSON.stringify(option.value) === JSON.stringify(value)) ??
    known.find((option) => typeof value === "string" && textOf(option.value) === value)
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const DATETIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/;

function checkText(field: FormField, text: string): FieldError | null {
  if (!hasForm(field.type, text)) return "type";
  const length = field.minLength === null && field.maxLength === null ? 0 : [...text].length;
  if (field.minLength !== null && length < field.minLength) return "minLength";
  if (field.maxLength !== null && length > field.maxLength) return "maxLength";
  return field.pattern !== null && !matches(field.pattern, text) ? "pattern" : null;
}

function hasForm(type: FormField["type"], text: string): boolean {
  if (type === "date") return DATE.test(text) && isDay(text);
  if (type === "datetime") return DATETIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));
  if (type === "email") return /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text);
  return type === "url" ? isUrl(text) : true;
}

/** A day that there is: the 30th of February becomes another one. */
const isDay = (text: string): boolean => {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
};

function isUrl(text: string): boolean {
  try {
    return Boolean(new URL(text));
  } catch {
    return false;
  }
}
