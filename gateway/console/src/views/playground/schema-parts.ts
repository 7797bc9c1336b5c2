// What a value that is entered as JSON consists of, as its schema names it.

type Schema = Readonly<Record<string, unknown>>;

const MOST_PARTS = 20;
const DEEPEST = 3;

/** Returns the titles and names of the parts: "Street (street), Town (town)"; empty if the schema names none. */
export function partsOf(schema: unknown, depth = 1): string {
  const properties = objectOf(valueSchema(schema)?.properties);
  if (!properties || depth > DEEPEST) return "";
  const parts = Object.entries(properties);
  const named = parts.slice(0, MOST_PARTS).map(([name, part]) => {
    const inner = partsOf(part, depth + 1);
    return `${labelOf(name, objectOf(part))}${inner && `: ${inner}`}`;
  });
  return [...named, ...(parts.length > MOST_PARTS ? ["…"] : [])].join(", ");
}

function labelOf(name: string, part: Schema | null): string {
  const title = part?.title ?? valueSchema(part)?.title;
  return typeof title === "string" && title !== name ? `${title} (${name})` : name;
}

/** The schema of the value, or of each item of a list; null beside one other schema is left out. */
function valueSchema(schema: unknown): Schema | null {
  const own = objectOf(schema);
  const choices = [own?.anyOf ?? own?.oneOf ?? []].flat();
  const others = choices.map(objectOf).filter((choice) => choice && choice.type !== "null");
  const inner = others.length === 1 ? others[0] : own;
  return objectOf(inner?.items) ?? inner ?? null;
}

function objectOf(value: unknown): Schema | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : null;
}
