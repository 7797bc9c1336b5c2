import type { DataOf } from "../events/event-types.js";
import { isObject } from "../events/read-event.js";
import { readField } from "./field-values.js";
import type { FieldError, FieldOption, FieldType, FormField } from "./form-field.js";

type JsonObject = Record<string, unknown>;

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
  const { kind, schema, questions, title } = interaction;
  switch (kind) {
    case "form": {
      const fields = fieldsOf(schema);
      if (!fields)
        return model(interaction, [field("value", { type: "json", required: true })], ([[, value]]) => value);
      return model(interaction, fields, (entries) =>
        Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
      );
    }
    case "questions":
      return model(interaction, (questions ?? []).map(questionField), (entries) =>
        entries.map(([, value]) => value ?? ""),
      );
    case "approval": {
      const fields = [field("approved", { label: title ?? "approved", type: "boolean", required: true })];
      return model(interaction, fields, ([[, value]]) => value === true);
    }
    default:
      return null;
  }
}

const field = (name: string, own: Partial<FormField>): FormField => ({
  name,
  label: name,
  description: null,
  type: "text",
  required: false,
  options: null,
  defaultValue: null,
  minimum: null,
  maximum: null,
  minLength: null,
  maxLength: null,
  pattern: null,
  ...own,
});

type Entries = [first: [string, unknown], ...others: [string, unknown][]];

function model(
  { title, description, ui }: DataOf<"interaction">,
  fields: FormField[],
  answer: (entries: Entries) => unknown,
): FormModel {
  const read = (values: unknown, part: 0 | 1) =>
    fields.map((field) => [field.name, readField(field, own(values, field.name))[part]]) as Entries;
  return {
    title: title ?? null,
    description: description ?? null,
    submitText: textIn(ui, "submit_text"),
    cancelText: textIn(ui, "cancel_text"),
    fields,
    validate: (values) =>
      Object.fromEntries(read(values, 0).filter(([, error]) => error)) as Record<string, FieldError>,
    value: (values) => answer(read(values, 1)),
  };
}

/** An own property of an object; undefined if the value is no object. */
const own = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null && Object.hasOwn(object, name)
    ? (object as JsonObject)[name]
    : undefined;

const textIn = (object: unknown, name: string): string | null => {
  const value = own(object, name);
  return typeof value === "string" ? value : null;
};

const numberIn = (object: unknown, name: string): number | null => {
  const value = own(object, name);
  return typeof value === "number" ? value : null;
};

const listIn = (object: unknown, name: string): unknown[] | null => {
  const value = own(object, name);
  return Array.isArray(value) ? value : null;
};

/** A field for each property; null where the schema is no object of properties. */
function fieldsOf(schema: unknown): FormField[] | null {
  const properties = own(schema, "properties");
  const type = own(schema, "type") ?? "object";
  if (!isObject(properties) || type !== "object") return null;
  const required = listIn(schema, "required");
  return Object.entries(properties).map(([name, property]) => {
    const inner = withoutNull(property);
    return field(name, {
      label: textIn(property, "title") ?? textIn(inner, "title") ?? name,
      description: textIn(property, "description") ?? textIn(inner, "description"),
      ...kindOf(inner),
      required: required?.includes(name) ?? false,
      defaultValue: own(property, "default") ?? own(inner, "default") ?? null,
      minimum: numberIn(inner, "minimum"),
      maximum: numberIn(inner, "maximum"),
      minLength: numberIn(inner, "minLength"),
      maxLength: numberIn(inner, "maxLength"),
      pattern: textIn(inner, "pattern"),
    });
  });
}

/** The choices of a schema: `oneOf`, else `anyOf`. */
const choicesOf = (schema: unknown): unknown[] | null => listIn(schema, "oneOf") ?? listIn(schema, "anyOf");

/** A schema that allows null beside one other schema is that other schema: null is the empty field. */
function withoutNull(schema: unknown): unknown {
  const choices = choicesOf(schema) ?? [];
  const others = choices.filter((choice) => own(choice, "type") !== "null");
  return others.length === 1 && choices.length > 1 && isObject(others[0]) ? others[0] : schema;
}

/** The formats that are types of fields, under any of their names. */
const FORMAT = /^(?:idn-)?(?:(date|email|textarea)|(date-?time)|ur[il]|iri)$/;
const LONG_TEXT = 200;

function kindOf(schema: unknown): Pick<FormField, "type" | "options"> {
  const options = optionsOf(schema);
  const items = optionsOf(own(schema, "items"));
  const type = typeOf(schema);
  if (textIn(schema, "$ref")) return { type: "json", options: null };
  if (options) return { type: "select", options };
  if (type === "array" && items) return { type: "multiselect", options: items };
  return { type: choicesOf(schema) ? "json" : plainType(schema, type), options: null };
}

/** The type that a schema names. In a list of types null is ignored, and two or more others make a JSON field. */
function typeOf(schema: unknown): unknown {
  const others = listIn(schema, "type")?.filter((name) => name !== "null");
  if (!others)
    return own(schema, "type") ?? ((own(schema, "properties") ?? own(schema, "items")) ? "object" : "string");
  return others.length === 1 ? others[0] : "json";
}

function plainType(schema: unknown, type: unknown): FieldType {
  if (type === "boolean" || type === "number" || type === "integer") return type;
  if (type !== "string") return "json";
  const [format, name, time] = FORMAT.exec(textIn(schema, "format") ?? "") ?? [];
  if (format) return (name as FieldType | undefined) ?? (time ? "datetime" : "url");
  return (numberIn(schema, "maxLength") ?? 0) > LONG_TEXT ? "textarea" : "text";
}

/** The choices of `enum`, or of `oneOf` / `anyOf` of constants; null if the schema has no choices. */
function optionsOf(schema: unknown): FieldOption[] | null {
  const words = listIn(schema, "enum");
  if (words) return words.map((value) => option(value));
  const choices = choicesOf(schema);
  const isOfConstants =
    choices?.length && choices.every((choice) => isObject(choice) && Object.hasOwn(choice, "const"));
  return isOfConstants ? choices.map((choice) => option(own(choice, "const"), textIn(choice, "title"))) : null;
}

const labelOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const option = (value: unknown, label: string | null = null, code: string | null = null): FieldOption => ({
  value,
  label: label ?? labelOf(value),
  code,
});

function questionField(question: unknown, index: number): FormField {
  const codes = own(question, "option_codes");
  const options = listIn(question, "options")?.map((choice, place) =>
    option(
      isObject(choice) ? (textIn(choice, "label") ?? labelOf(choice)) : choice,
      null,
      textIn(codes, String(place)),
    ),
  );
  const isChoice = own(question, "response_type") === "single_choice" && options?.length;
  return field(String(index), {
    label: textIn(question, "text") ?? "",
    type: isChoice ? "select" : "textarea",
    required: own(question, "required") === true,
    options: isChoice ? options : null,
  });
}
