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
