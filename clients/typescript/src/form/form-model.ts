import type { DataOf } from "../events/event-types.js";
import { isObject } from "../events/read-event.js";
import { readField } from "./field-values.js";

type JsonObject = Record<string, unknown>;

export type FieldType =
  | "boolean"
  | "number"
  | "integer"
  | "select"
  | "multiselect"
  | "date"
  | "datetime"
  | "email"
  | "url"
  | "textarea"
  | "text"
  | "json";

/** One choice; `code` is the key of its translation, where the system has one. */
export interface FieldOption {
  value: unknown;
  label: string;
  code: string | null;
}

/** One field of a form. An absent property is null. */
export interface FormField {
  name: string;
  label: string;
  description: string | null;
  type: FieldType;
  required: boolean;
  options: FieldOption[] | null;
  defaultValue: unknown;
  minimum: number | null;
  maximum: number | null;
  minLength: number | null;
  maxLength: number | null;
  pattern: string | null;
}

/** Why a value does not fit its field. */
export type FieldError =
  | "required"
  | "type"
  | "minimum"
  | "maximum"
  | "minLength"
  | "maxLength"
  | "pattern"
  | "enum"
  | "json";

/** A form without a picture: its fields, and the way from the values that were entered to an answer. */
export interface FormModel {
  title: string | null;
  description: string | null;
  submitText: string | null;
  cancelText: string | null;
  fields: FormField[];
  /** An error for each field that does not fit, by its name; `{}` where all do. */
  validate(values: Readonly<Record<string, unknown>>): Record<string, FieldError>;
  /** The value that `respond` takes. */
  value(values: Readonly<Record<string, unknown>>): unknown;
}

/** The form of an interaction of the kinds form, questions and approval; null for another kind. */
export function formModel(interaction: DataOf<"interaction">): FormModel | null {
  switch (interaction.kind) {
    case "form": {
      const fields = fieldsOf(interaction.schema);
      const isWhole = !fields;
      return model(
        interaction,
        fields ?? [{ ...EMPTY, name: "value", label: "value", type: "json", required: true }],
        (entries) =>
          isWhole ? entries[0]?.[1] : Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
      );
    }
    case "questions":
      return model(interaction, (interaction.questions ?? []).map(questionField), (entries) =>
        entries.map(([, value]) => value ?? ""),
      );
    case "approval": {
      const label = interaction.title ?? "approved";
      const field: FormField = { ...EMPTY, name: "approved", label, type: "boolean", required: true };
      return model(interaction, [field], ([entry]) => entry?.[1] === true);
    }
    default:
      return null;
  }
}

const EMPTY: Omit<FormField, "name" | "label" | "type"> = {
  description: null,
  required: false,
  options: null,
  defaultValue: null,
  minimum: null,
  maximum: null,
  minLength: null,
  maxLength: null,
  pattern: null,
};

function model(
  { title, description, ui }: DataOf<"interaction">,
  fields: FormField[],
  answer: (entries: [string, unknown][]) => unknown,
): FormModel {
  return {
    title: title ?? null,
    description: description ?? null,
    submitText: textIn(ui, "submit_text"),
    cancelText: textIn(ui, "cancel_text"),
    fields,
    validate: (values) =>
      Object.fromEntries(
        fields
          .map((field) => [field.name, readField(field, own(values, field.name))[0]] as const)
          .filter((entry): entry is [string, FieldError] => entry[1] !== null),
      ),
    value: (values) => answer(fields.map((field) => [field.name, readField(field, own(values, field.name))[1]])),
  };
}

const own = (values: unknown, name: string): unknown =>
  typeof values === "object" && values !== null && Object.hasOwn(values, name)
    ? (values as JsonObject)[name]
    : undefined;

const textIn = (object: unknown, name: string): string | null => {
  const value = own(object, name);
  return typeof value === "string" ? value : null;
};

const numberIn = (object: JsonObject, name: string): number | null => {
  const value = own(object, name);
  return typeof value === "number" ? value : null;
};

/** A field for each property; null where the schema is no object of properties. */
function fieldsOf(schema: unknown): FormField[] | null {
  const properties = own(schema, "properties");
  const type = own(schema, "type");
  if (!isObject(properties) || (type !== undefined && type !== "object")) return null;
  const required = own(schema, "required");
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => fieldOf(name, property, names.includes(name)));
}

function fieldOf(name: string, given: unknown, required: boolean): FormField {
  const outer = isObject(given) ? given : {};
  const schema = withoutNull(outer);
  const { type, options } = kindOf(schema);
  return {
    name,
    label: textIn(outer, "title") ?? textIn(schema, "title") ?? name,
    description: textIn(outer, "description") ?? textIn(schema, "description"),
    type,
    required,
    options,
    defaultValue: own(outer, "default") ?? own(schema, "default") ?? null,
    minimum: numberIn(schema, "minimum"),
    maximum: numberIn(schema, "maximum"),
    minLength: numberIn(schema, "minLength"),
    maxLength: numberIn(schema, "maxLength"),
    pattern: textIn(schema, "pattern"),
  };
}

/** A schema that allows null beside one other schema is that other schema: null is the empty field. */
function withoutNull(schema: JsonObject): JsonObject {
  for (const name of ["anyOf", "oneOf"]) {
    const choices = own(schema, name);
    if (!Array.isArray(choices)) continue;
    const others = choices.filter((choice) => !(isObject(choice) && own(choice, "type") === "null"));
    if (others.length === 1 && others.length < choices.length && isObject(others[0])) return others[0];
  }
  return schema;
}

const FORMATS: Readonly<Record<string, FieldType>> = {
  date: "date",
  "date-time": "datetime",
  datetime: "datetime",
  email: "email",
  "idn-email": "email",
  uri: "url",
  url: "url",
  iri: "url",
  textarea: "textarea",
};
const LONG_TEXT = 200;

function kindOf(schema: JsonObject): { type: FieldType; options: FieldOption[] | null } {
  const plain = (type: FieldType) => ({ type, options: null });
  if (own(schema, "$ref") !== undefined) return plain("json");
  const options = optionsOf(schema);
  if (options) return { type: "select", options };
  if (own(schema, "anyOf") !== undefined || own(schema, "oneOf") !== undefined) return plain("json");
  switch (typeOf(schema)) {
    case "boolean":
      return plain("boolean");
    case "number":
      return plain("number");
    case "integer":
      return plain("integer");
    case "array": {
      const items = own(schema, "items");
      const choices = isObject(items) ? optionsOf(items) : null;
      return choices ? { type: "multiselect", options: choices } : plain("json");
    }
    case "string":
      return plain(textType(schema));
    case undefined:
      return plain(
        own(schema, "properties") === undefined && own(schema, "items") === undefined ? textType(schema) : "json",
      );
    default:
      return plain("json");
  }
}

/** The type that a schema names. Of several types null does not count; two others are `any of them`, a JSON field. */
function typeOf(schema: JsonObject): unknown {
  const type = own(schema, "type");
  if (!Array.isArray(type)) return type;
  const others = type.filter((name) => name !== "null");
  return others.length === 1 ? others[0] : "any of them";
}

function textType(schema: JsonObject): FieldType {
  const format = textIn(schema, "format");
  const known = format !== null && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return known ?? ((numberIn(schema, "maxLength") ?? 0) > LONG_TEXT ? "textarea" : "text");
}

/** The choices of `enum`, or of `oneOf` / `anyOf` of constants; null if the schema has no choices. */
function optionsOf(schema: JsonObject): FieldOption[] | null {
  const words = own(schema, "enum");
  if (Array.isArray(words)) return words.map((value) => ({ value, label: labelOf(value), code: null }));
  for (const name of ["oneOf", "anyOf"]) {
    const choices = own(schema, name);
    if (!Array.isArray(choices) || !choices.length) continue;
    if (!choices.every((choice) => isObject(choice) && Object.hasOwn(choice, "const"))) continue;
    return choices.map((choice: JsonObject) => ({
      value: choice.const,
      label: textIn(choice, "title") ?? labelOf(choice.const),
      code: null,
    }));
  }
  return null;
}

const labelOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

function questionField(question: unknown, index: number): FormField {
  const given = isObject(question) ? question : {};
  const choices = own(given, "options");
  const codes = own(given, "option_codes");
  const options = Array.isArray(choices)
    ? choices.map((choice, place) => questionOption(choice, Array.isArray(codes) ? codes[place] : undefined))
    : [];
  const isChoice = given.response_type === "single_choice" && options.length > 0;
  return {
    ...EMPTY,
    name: String(index),
    label: textIn(given, "text") ?? "",
    type: isChoice ? "select" : "textarea",
    required: given.required === true,
    options: isChoice ? options : null,
  };
}

function questionOption(choice: unknown, code: unknown): FieldOption {
  const label = isObject(choice) ? (textIn(choice, "label") ?? labelOf(choice)) : labelOf(choice);
  return { value: isObject(choice) ? label : choice, label, code: typeof code === "string" ? code : null };
}
