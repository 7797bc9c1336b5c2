import type { FieldError, FormField } from "./form-field.js";
import { matches } from "./pattern.js";

const isEmpty = (value: unknown): boolean => (value ?? "") === "" || (Array.isArray(value) && value.length === 0);

/** Why a value does not fit its field (null if it does), and the value that goes out: undefined leaves the field out. */
export function readField(field: FormField, value: unknown): [error: FieldError | null, value: unknown] {
  if (isEmpty(value)) return [field.required ? "required" : null, undefined];
  switch (field.type) {
    case "boolean": {
      const flag = booleanOf(value);
      return [flag === undefined ? "type" : null, flag ?? value];
    }
    case "number":
    case "integer": {
      const number = numberOf(value);
      return [checkNumber(field, number), number ?? value];
    }
    case "select": {
      const option = optionOf(field, value);
      return [option ? null : "enum", (option ?? { value }).value];
    }
    case "multiselect": {
      if (!Array.isArray(value)) return ["type", value];
      const chosen = value.map((item) => optionOf(field, item));
      return [chosen.every(Boolean) ? null : "enum", value.map((item, at) => (chosen[at] ?? { value: item }).value)];
    }
    case "json": {
      const json = typeof value === "string" ? parsed(value) : value;
      return [json === undefined ? "json" : null, json];
    }
    default:
      return [typeof value === "string" ? checkText(field, value) : "type", value];
  }
}

function booleanOf(value: unknown): boolean | undefined {
  if (value === "true" || value === true) return true;
  return value === "false" || value === false ? false : undefined;
}

function numberOf(value: unknown): number | undefined {
  const isText = typeof value === "string" && /^[\d.e+-]+$/i.test(value.trim());
  const number = isText ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function checkNumber(field: FormField, number: number | undefined): FieldError | null {
  if (number === undefined || (field.type === "integer" && !Number.isInteger(number))) return "type";
  if (field.minimum !== null && number < field.minimum) return "minimum";
  return field.maximum !== null && number > field.maximum ? "maximum" : null;
}

/** The option that a value names. The elements of a page give every value as text. */
function optionOf({ options }: FormField, value: unknown): { value: unknown } | undefined {
  const text = JSON.stringify(value);
  return (
    options?.find((option) => option.value === value) ??
    options?.find(({ value: own }) => [text, value].includes(JSON.stringify(own)))
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const DATETIME = /^[\d-]{10}T\d\d(:\d\d){1,2}(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

function checkText(field: FormField, text: string): FieldError | null {
  if (!hasForm(field.type, text)) return "type";
  const length = field.minLength === null && field.maxLength === null ? 0 : [...text].length;
  if (field.minLength !== null && length < field.minLength) return "minLength";
  if (field.maxLength !== null && length > field.maxLength) return "maxLength";
  return field.pattern !== null && !matches(field.pattern, text) ? "pattern" : null;
}

function hasForm(type: FormField["type"], text: string): boolean {
  if (type === "date") return isDay(text);
  if (type === "datetime") return DATETIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));
  if (type === "email") return /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text);
  return type === "url" ? isUrl(text) : true;
}

/** The 30th of February is read as a day of March, and no day is read as null. */
const isDay = (text: string): boolean => new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

function isUrl(text: string): boolean {
  try {
    return Boolean(new URL(text));
  } catch {
    return false;
  }
}
