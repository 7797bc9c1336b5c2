// Writes src/protocol.ts (types) and src/events/shapes.ts (what a reader checks) from the JSON Schema of the
// protocol. `--check` writes nothing and fails when the files differ. A construct of the schema that is not
// known here is an error: a type that is silently too wide would be worse.
import { readFileSync, writeFileSync } from "node:fs";

const ROOT = new URL("..", import.meta.url);
const SCHEMA = new URL("../../middleware/streamweir/protocol.schema.json", ROOT);
const FILES = { types: new URL("src/protocol.ts", ROOT), shapes: new URL("src/events/shapes.ts", ROOT) };
const HEAD = "// Written by scripts/types.mjs from middleware/streamweir/protocol.schema.json: do not edit.\n";

/** Names that say more in TypeScript, or that the language has taken. */
const NAMES = { Metadata: "EventMetadata", File: "FileData", Dataframe: "DataframeData", Custom: "CustomData" };
const KEYWORDS = new Set(
  "type properties required const enum items $ref anyOf title description pattern minimum maximum allOf additionalProperties".split(
    " ",
  ),
);
const BASIC = {
  string: "string",
  boolean: "boolean",
  null: "null",
  object: "Record<string, unknown>",
  array: "unknown[]",
};

const schema = JSON.parse(readFileSync(SCHEMA, "utf8"));
const defs = schema.$defs;
const events = schema.oneOf.map(({ $ref }) => nameIn($ref));
const parts = Object.keys(defs).filter((name) => !events.includes(name));

function nameIn(ref) {
  const name = /^#\/\$defs\/(\w+)$/.exec(ref)?.[1];
  if (!name || !defs[name]) throw new Error(`a reference that leads nowhere: ${ref}`);
  return name;
}

function refuseUnknown(node, place) {
  for (const key of Object.keys(node)) {
    if (!KEYWORDS.has(key)) throw new Error(`${place}: the keyword "${key}" is not known to scripts/types.mjs`);
  }
}

const words = (list) => list.map((word) => JSON.stringify(word)).join(" | ");

/** The TypeScript type of a schema. */
function typeOf(node, place) {
  refuseUnknown(node, place);
  if (node.$ref) return NAMES[nameIn(node.$ref)] ?? nameIn(node.$ref);
  if ("const" in node) return JSON.stringify(node.const);
  if (node.enum) return words(node.enum);
  if (node.anyOf) return alternatives(node, place);
  if (node.type === undefined) return "unknown";
  if (node.type === "integer" || node.type === "number") return "number";
  if (node.type === "array" && node.items) return `${grouped(typeOf(node.items, `${place}[]`))}[]`;
  if (node.type === "object" && node.properties) return objectOf(node, place, "      ");
  if (node.type === "object" && node.additionalProperties)
    return `Record<string, ${typeOf(node.additionalProperties, `${place}{}`)}>`;
  const basic = BASIC[node.type];
  if (!basic) throw new Error(`${place}: the type ${JSON.stringify(node.type)} is not known to scripts/types.mjs`);
  return basic;
}

/** A string beside a list of words keeps the words: editors then complete them. */
function alternatives(node, place) {
  const hasWords = node.anyOf.some(({ $ref }) => $ref && defs[nameIn($ref)].enum);
  return node.anyOf
    .map((option, index) => typeOf(option, `${place}|${index}`))
    .map((type) => (hasWords && type === "string" ? "(string & {})" : type))
    .join(" | ");
}

const grouped = (type) => (/[|&]/.test(type) ? `(${type})` : type);

function fields(node, place, { optional = false } = {}) {
  const required = new Set(optional ? [] : node.required);
  return Object.entries(node.properties).map(
    ([name, field]) => `${name}${required.has(name) ? "" : "?"}: ${typeOf(field, `${place}.${name}`)};`,
  );
}

function objectOf(node, place, indent) {
  return `{\n${fields(node, place)
    .map((line) => `${indent}${line}\n`)
    .join("")}${indent.slice(2)}}`;
}

/** The rules `if data_type is X then data is Y`: one member of a union for each shape. */
function narrowed(node, place) {
  const { allOf, ...rest } = node;
  const shapes = allOf.map((rule, index) => ruleOf(rule, `${place}.allOf[${index}]`));
  const named = shapes.map(([word]) => word);
  const missing = node.properties.data_type.enum.filter((word) => !named.includes(word));
  if (missing.length) throw new Error(`${place}: no rule says what data is for ${missing.join(", ")}`);
  return shapes.map(([word, data]) => {
    const properties = { ...rest.properties, data_type: { const: word }, data };
    return objectOf({ ...rest, properties }, `${place}(${word})`, "      ");
  });
}

function ruleOf(rule, place) {
  const word = rule.if?.properties?.data_type?.const;
  const data = rule.then?.properties?.data;
  const known = JSON.stringify({ if: { properties: { data_type: { const: word } } }, then: { properties: { data } } });
  if (JSON.stringify(rule) !== known)
    throw new Error(`${place}: a rule of this form is not known to scripts/types.mjs`);
  return [word, data];
}

const sentence = (text) =>
  text
    .split(/\n\n/)[0]
    .split(/(?<=\.) /)[0]
    .replaceAll("`None`", "null")
    .trim();

function partSource(name) {
  const node = defs[name];
  const comment = `/** ${sentence(node.description)} */\n`;
  const own = NAMES[name] ?? name;
  if (node.enum)
    return (
      `${comment}export type ${own} =\n${node.enum.map((word) => `  | ${JSON.stringify(word)}\n`).join("")}`.trimEnd() +
      ";\n"
    );
  const lines = fields(node, name, { optional: name === "Metadata" });
  return `${comment}export interface ${own} {\n${lines.map((line) => `  ${line}\n`).join("")}}\n`;
}

function eventSource(name) {
  const node = defs[name];
  const { type, data } = node.properties;
  const shapes = data.allOf ? narrowed(data, name) : [objectOf(data, name, "    ")];
  const dataType = shapes.length === 1 ? shapes[0] : shapes.map((shape) => `\n    | ${shape}`).join("");
  return `/** ${sentence(node.description)} */
export interface ${name}Event {
  type: ${JSON.stringify(type.const)};
  data: ${dataType};
  metadata: EventMetadata;
}\n`;
}

const typesSource = () => `${HEAD}
${parts.map(partSource).join("\n")}
${events.map(eventSource).join("\n")}
/** An event that this version of the protocol does not know, or whose data does not fit its type. */
export interface UnknownEvent {
  type: "unknown";
  data: { type: string; data: unknown };
  metadata: EventMetadata;
}

/** One event of a stream; \`type\` says which. */
export type StreamEvent =
${[...events.map((name) => `${name}Event`), "UnknownEvent"]
  .map((name) => `  | ${name}\n`)
  .join("")
  .trimEnd()};
`;

/** The kind of a field: see the head of shapes.ts. */
function kindOf(node, place) {
  refuseUnknown(node, place);
  if (node.$ref) return defs[nameIn(node.$ref)].enum ? "s" : "o";
  if ("const" in node) return `${node.const}|`;
  if (node.enum) return node.enum.join("|");
  if (node.anyOf)
    return either(
      node.anyOf.map((option, index) => kindOf(option, `${place}|${index}`)),
      place,
    );
  if (node.type === undefined) return "";
  if (node.type === "array" && node.items) return `[${kindOf(node.items, `${place}[]`)}`;
  return { string: "s", boolean: "b", integer: "n", number: "n", object: "o", array: "a", null: "0" }[node.type];
}

function either(kinds, place) {
  const distinct = [...new Set(kinds)];
  if (distinct.every((kind) => kind.length === 1)) return distinct.sort().join("");
  throw new Error(`${place}: alternatives of this form are not known to scripts/types.mjs`);
}

/** Events whose fields the reader fills in or puts right, and data, of which each type has a shape of its own. */
const WITHOUT = ["Error", "SessionEnd", "Data"];

/** The kinds of the fields that an object must have. */
function shapeOf(name, node, place) {
  const required = WITHOUT.includes(name) ? [] : (node.required ?? []);
  const fields = Object.entries(node.properties)
    .filter(([field]) => required.includes(field))
    .map(([field, schema]) => `${field}: ${JSON.stringify(kindOf(schema, `${place}.${field}`))}`);
  return fields.length ? `{ ${fields.join(", ")} }` : "{}";
}

function dataTypeShape([word, node]) {
  const target = node.$ref ? defs[nameIn(node.$ref)] : { properties: {} };
  const kind = node.type === "array" ? JSON.stringify(kindOf(node, word)) : shapeOf(word, target, `Data(${word})`);
  return `  ${word}: ${kind},`;
}

function shapesSource() {
  const lines = events.map((name) => {
    const { type, data } = defs[name].properties;
    return `  ${type.const}: ${shapeOf(name, data, name)},`;
  });
  const rules = defs.Data.properties.data.allOf.map((rule, index) => ruleOf(rule, `Data.allOf[${index}]`));
  return `${HEAD}
/**
 * The required fields of an object, and the kind of each.
 *
 * A kind is one of several words (\`a|b\`), or of several letters: s text, n number, b true or false, o object, a list,
 * 0 null; \`[o\` is a list of objects, "" anything.
 */
export type Shape = Readonly<Record<string, string>>;

/** The data of each type of event. */
export const SHAPES: Readonly<Record<string, Shape>> = {
  __proto__: null as never,
${lines.join("\n")}
};

/** \`data.data\` of each \`data_type\`: the shape of an object, or a kind. */
export const DATA_SHAPES: Readonly<Record<string, Shape | string>> = {
  __proto__: null as never,
${rules.map(dataTypeShape).join("\n")}
};
`;
}

const written = { types: typesSource(), shapes: shapesSource() };
const stale = Object.keys(FILES).filter((file) => current(FILES[file]) !== written[file]);

function current(url) {
  try {
    return readFileSync(url, "utf8");
  } catch {
    return undefined;
  }
}

if (process.argv.includes("--check")) {
  for (const file of stale) console.error(`${FILES[file].pathname} differs from the schema: npm run types`);
  process.exitCode = stale.length ? 1 : 0;
} else {
  for (const file of stale) writeFileSync(FILES[file], written[file]);
}
