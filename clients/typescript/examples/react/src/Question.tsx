import { type FormEvent, useState } from "react";
import { type DataOf, type FormField, formModel } from "streamweir";
import type { UseAgentStream } from "streamweir/react";

interface QuestionProps {
  asked: DataOf<"interaction">;
  respond: UseAgentStream["respond"];
}

/** What the run waits for: an approval, a form, questions, or a word to go on. */
export function Question({ asked, respond }: QuestionProps) {
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [wrong, setWrong] = useState<string[]>([]);
  const model = formModel(asked);
  const answer = (value?: unknown) => void respond(asked.interaction_id, value);

  if (asked.kind === "approval") {
    return (
      <div className="card">
        <strong>{asked.title ?? asked.description ?? "May it go on?"}</strong>{" "}
        <button type="button" onClick={() => answer(true)}>
          Approve
        </button>{" "}
        <button type="button" onClick={() => answer(false)}>
          Reject
        </button>
      </div>
    );
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    const errors = Object.keys(model?.validate(values) ?? {});
    setWrong(errors);
    if (!errors.length) answer(model?.value(values));
  }

  return (
    <form className="card" onSubmit={submit}>
      <strong>{asked.title ?? asked.description ?? "A question"}</strong>
      {model?.fields.map((field) => (
        <p key={field.name}>
          <Field field={field} set={(value) => setValues({ ...values, [field.name]: value })} />
          {wrong.includes(field.name) && <em> Please look at this.</em>}
        </p>
      ))}
      <button type="submit">{model?.submitText ?? (model ? "Send" : "Go on")}</button>
    </form>
  );
}

const TYPES: Partial<Record<FormField["type"], string>> = {
  number: "number",
  integer: "number",
  date: "date",
  email: "email",
  url: "url",
};

function Field({ field, set }: { field: FormField; set: (value: unknown) => void }) {
  if (field.type === "boolean") {
    return (
      <label>
        <input type="checkbox" onChange={({ target }) => set(target.checked)} /> {field.label}
      </label>
    );
  }
  if (field.options) {
    const isMany = field.type === "multiselect";
    return (
      <label>
        {field.label}{" "}
        <select
          multiple={isMany}
          onChange={({ target }) => set(isMany ? [...target.selectedOptions].map(({ value }) => value) : target.value)}
        >
          {!isMany && <option value="" />}
          {field.options.map(({ value, label }) => (
            <option key={label} value={String(value)}>
              {label}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const isLong = field.type === "textarea" || field.type === "json";
  return (
    <label>
      {field.label}{" "}
      {isLong ? (
        <textarea onChange={({ target }) => set(target.value)} />
      ) : (
        <input type={TYPES[field.type] ?? "text"} onChange={({ target }) => set(target.value)} />
      )}
    </label>
  );
}
