import { describe, expect, test } from "vitest";
import { type DataOf, formModel } from "../../src/index.js";

const form = (schema: unknown, more: object = {}) =>
  formModel({ interaction_id: "i", kind: "form", state: "requested", schema, ...more } as DataOf<"interaction">);
const fieldsOf = (properties: object, required: string[] = []) =>
  form({ type: "object", properties, required })?.fields ?? [];
const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>;

describe("fields", () => {
  test("have the type that a field can hold", () => {
    const types = fieldsOf({
      a: { type: "string" },
      b: { type: "boolean" },
      c: { type: "integer", minimum: 1, maximum: 5 },
      d: { type: "number" },
      e: { type: "string", enum: ["x", "y"] },
      f: { oneOf: [{ const: 1, title: "One" }, { const: 2 }] },
      g: { type: "array", items: { enum: ["x"] } },
      h: { type: "string", format: "date" },
      i: { type: "string", format: "date-time" },
      j: { type: "string", format: "email" },
      k: { type: "string", format: "uri" },
      l: { type: "string", maxLength: 201 },
      m: { type: "object" },
      n: { type: "array", items: { type: "string" } },
      o: { $ref: "#/x" },
      p: { anyOf: [{ type: "integer" }, { type: "null" }] },
      q: { type: ["string", "null"] },
      r: {},
      s: { anyOf: [{ type: "string" }, { type: "number" }] },
    }).map(({ type }) => type);
    expect(types.join(" ")).toBe(
      "text boolean integer number select select multiselect date datetime email url textarea json json json integer text text json",
    );
  });

  test("absent is null", () => {
    expect(fieldsOf({ a: {} }, ["a"])).toEqual([
      {
        name: "a",
        label: "a",
        description: null,
        type: "text",
        required: true,
        options: null,
        defaultValue: null,
        minimum: null,
        maximum: null,
        minLength: null,
        maxLength: null,
        pattern: null,
      },
    ]);
  });

  test("a schema that is no object of properties is one field", () => {
    for (const schema of [undefined, null, 1, { type: "string" }, { type: "object" }, { properties: [] }]) {
      expect(form(schema)?.fields.map(({ name, type }) => [name, type])).toEqual([["value", "json"]]);
    }
    expect(form({ type: "string" })?.value({ value: '{"a":1}' })).toEqual({ a: 1 });
  });

  test("texts of the form", () => {
    const model = form({}, { title: "T", description: "D", ui: { submit_text: "Go", cancel_text: 1 } });
    expect(model).toMatchObject({ title: "T", description: "D", submitText: "Go", cancelText: null });
  });
});

describe("values", () => {
  const model = form({
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-z]+$" },
      age: { type: "integer", minimum: 1, maximum: 9 },
      color: { enum: ["red", 1, null] },
      tags: { type: "array", items: { enum: ["a", "b"] } },
      day: { type: "string", format: "date" },
      mail: { type: "string", format: "email" },
      raw: { type: "object" },
      ok: { type: "boolean" },
    },
  });

  test("errors by name", () => {
    expect(model?.validate({})).toEqual({ name: "required" });
    expect(model?.validate({ name: "ab" })).toEqual({});
    const bad = {
      name: "a",
      age: "x",
      color: "blue",
      tags: ["c"],
      day: "2026-02-30",
      mail: "x",
      raw: "{",
      ok: "perhaps",
    };
    expect(model?.validate(bad)).toEqual({
      name: "minLength",
      age: "type",
      color: "enum",
      tags: "enum",
      day: "type",
      mail: "type",
      raw: "json",
      ok: "type",
    });
    expect(model?.validate({ name: "abcde", age: 0 })).toEqual({ name: "maxLength", age: "minimum" });
    expect(model?.validate({ name: "ABC", age: "10" })).toEqual({ name: "pattern", age: "maximum" });
    expect(model?.validate({ name: "😀😀", age: 1.5 })).toEqual({ name: "pattern", age: "type" });
  });

  test("what goes out", () => {
    expect(
      model?.value({ name: "ab", age: " 7 ", color: "1", tags: ["a"], day: "", raw: "[1]", ok: false, other: 1 }),
    ).toEqual({
      name: "ab",
      age: 7,
      color: 1,
      tags: ["a"],
      raw: [1],
      ok: false,
    });
  });
});

describe("hostile schemas", () => {
  test("names of a prototype are names like others", () => {
    const schema = parsed(
      '{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"string"},"constructor":{"type":"integer"},"toString":{}}}',
    );
    const model = form(schema);
    expect(model?.fields.map(({ name }) => name)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.keys(model?.validate({}) ?? {})).toEqual(["__proto__"]);
    const value = model?.value(parsed('{"__proto__":"x","constructor":"3"}')) as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":"x","constructor":3}');
  });

  for (const pattern of [
    "(a+)+$",
    "^(a|a)*$",
    "(.*a){20}$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(a?){50}a{50}",
    "^(?=(a+)+$)a*$",
  ]) {
    test(`${pattern} is tested at once`, () => {
      const began = performance.now();
      form({ type: "object", properties: { a: { type: "string", pattern } } })?.validate({ a: `${"a".repeat(5000)}!` });
      expect(performance.now() - began).toBeLessThan(20_000);
    });
  }

  test("patterns mean what the engine says that they mean", () => {
    const texts = [
      "",
      "a",
      "ab",
      "abc",
      "2026-01-02",
      "Äpfel",
      "x_1",
      "😀",
      "a b",
      "aaa",
      "foo.bar@baz.org",
      "A1b",
      "\n",
    ];
    const patterns = [
      "^a",
      "b$",
      "^[a-c]{1,2}$",
      "^\\d{4}-\\d{2}-\\d{2}$",
      "\\bfoo\\b",
      "^\\p{Lu}",
      "^(?:a|b|)+$",
      "^.$",
      "^\\S+@\\S+\\.\\S+$",
      "^(?=.*\\d)(?=.*[A-Z]).+$",
      "^(?!a).*$",
      "[^a]",
      "^a{2,}$",
      "^\\w+$",
      "a*?b",
      "^\\u{1F600}$",
      "()",
      "\\.",
    ];
    for (const pattern of patterns) {
      const model = form({ type: "object", properties: { a: { type: "string", pattern } } });
      for (const text of texts) {
        const matches = text === "" || new RegExp(pattern, "u").test(text);
        expect([pattern, text, model?.validate({ a: text })]).toEqual([pattern, text, matches ? {} : { a: "pattern" }]);
      }
    }
  });

  test("random patterns mean what the engine says that they mean", () => {
    let seed = 7;
    const random = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % most;
    };
    const pick = (list: string[]): string => list[random(list.length)] as string;
    const alternatives = (depth: number): string => (random(3) ? "" : `${sequence(depth)}|`) + sequence(depth);
    const sequence = (depth: number): string => Array.from({ length: random(4) + 1 }, () => part(depth)).join("");
    const part = (depth: number): string => {
      const kind = random(depth > 3 ? 6 : 9);
      if (kind === 8) return pick(["^", "$", "\\b", "\\B"]);
      if (kind === 7) return `${pick(["(?=", "(?!"])}${alternatives(depth + 1)})`;
      const one = kind === 6 ? `(?:${alternatives(depth + 1)})` : pick(["a", "b", ".", "[ab]", "[^a]", "\\d"]);
      return one + pick(["", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]);
    };
    let compared = 0;
    for (let count = 0; count < 1000; count++) {
      const pattern = alternatives(0).slice(0, 200);
      let expression: RegExp;
      try {
        expression = new RegExp(pattern, "u");
      } catch {
        continue;
      }
      for (const text of ["a", "ab", "aab", "ba1", "b b", "zz"]) {
        const found = form({ type: "object", properties: { a: { type: "string", pattern } } })?.validate({ a: text });
        expect([pattern, text, found]).toEqual([pattern, text, expression.test(text) ? {} : { a: "pattern" }]);
      }
      compared += 1;
    }
    expect(compared).toBeGreaterThan(500);
  });

  test("what is no expression, or too long, is not tested", () => {
    for (const pattern of ["(", "[", "a{2,1}", "a".repeat(501)]) {
      expect(form({ type: "object", properties: { a: { type: "string", pattern } } })?.validate({ a: "zzz" })).toEqual(
        {},
      );
    }
  });
});

test("questions and approvals", () => {
  const questions = formModel({
    interaction_id: "i",
    kind: "questions",
    state: "requested",
    questions: [
      {
        text: "Which?",
        response_type: "single_choice",
        options: ["A", "B"],
        required: true,
        option_codes: ["c.a", null],
      },
      { text: "Why?", response_type: "free_text" },
    ],
  } as unknown as DataOf<"interaction">);
  expect(questions?.fields.map(({ name, type, label }) => [name, type, label])).toEqual([
    ["0", "select", "Which?"],
    ["1", "textarea", "Why?"],
  ]);
  expect(questions?.fields[0]?.options).toEqual([
    { value: "A", label: "A", code: "c.a" },
    { value: "B", label: "B", code: null },
  ]);
  expect(questions?.validate({})).toEqual({ 0: "required" });
  expect(questions?.value({ 0: "B", 1: "so" })).toEqual(["B", "so"]);
  const approval = formModel({ interaction_id: "i", kind: "approval", state: "requested" });
  expect(approval?.fields).toMatchObject([{ name: "approved", type: "boolean" }]);
  expect([approval?.value({ approved: true }), approval?.value({ approved: false }), approval?.value({})]).toEqual([
    true,
    false,
    false,
  ]);
  expect(formModel({ interaction_id: "i", kind: "tool", state: "requested" })).toBeNull();
});
