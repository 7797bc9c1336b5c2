import { describe, expect, test } from "vitest";
import { partsOf } from "../src/views/playground/schema-parts.js";

const TOWN = { type: "object", properties: { name: { type: "string" }, zip: { title: "Postal code" } } };
const ADDRESS = { type: "object", title: "Address", properties: { street: { title: "Street" }, town: TOWN } };

describe("partsOf", () => {
  test("names the titles of an object, and of objects in it", () => {
    expect(partsOf(ADDRESS)).toBe("Street (street), town: name, Postal code (zip)");
  });

  test("names the parts of the items of a list, and of a schema beside null", () => {
    expect(partsOf({ type: "array", items: TOWN })).toBe("name, Postal code (zip)");
    expect(partsOf({ anyOf: [{ type: "null" }, TOWN] })).toBe("name, Postal code (zip)");
  });

  test("is empty where a schema names no parts", () => {
    for (const schema of [null, 3, "object", [], {}, { properties: null }, { items: { type: "string" } }]) {
      expect(partsOf(schema)).toBe("");
    }
  });

  test("ends for deep and long schemas", () => {
    let deep: unknown = {};
    for (let depth = 0; depth < 100; depth++) deep = { properties: { in: deep } };
    expect(partsOf(deep)).toBe("in: in: in");
    const long = { properties: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`p${n}`, {}])) };
    expect(partsOf(long).split(", ")).toHaveLength(21);
  });
});
