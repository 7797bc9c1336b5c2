/**
 * Patterns of a JSON Schema, which come from outside: matched in a time that grows with pattern times text.
 *
 * The engine of the language tries one way after another, so that `(a+)+$` takes minutes for thirty letters. Here all
 * ways are followed at once: each part of an expression maps the places of the text that were reached before it to the
 * places that are reached behind it. A single character is tested by the engine of the language, so that classes and
 * escapes are exactly its own.
 */
type Part = (text: Text, places: Set<number>) => Set<number>;

/** The characters of a text, and how many steps may still be made. */
interface Text {
  characters: string[];
  steps: number;
}

/** Thrown for an expression that is not followed here, or costs too many steps. */
class NotTested extends Error {}

const LONGEST_PATTERN = 500;
const MOST_STEPS = 1_000_000;

/** An escape, a class, the start of a group, a quantifier, or one character. */
const TOKEN =
  /\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u....|u....|x..|c.|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\\\]])*\]|\((?:\?(?:[:=!]|<[^>]*>|<[=!]))?|[*+?]\??|\{\d+,?\d*\}\??|./gsu;

/** Whether `text` matches; true if the pattern is no expression, too long, or too costly to be tested. */
export function matches(pattern: string, text: string): boolean {
  if (pattern.length > LONGEST_PATTERN) return true;
  try {
    new RegExp(pattern, "u");
    const characters = [...text];
    const everywhere = new Set([...characters, ""].keys());
    return partOf(pattern)({ characters, steps: MOST_STEPS }, everywhere).size > 0;
  } catch {
    return true;
  }
}

function partOf(pattern: string): Part {
  const tokens = pattern.match(TOKEN) ?? [];
  let at = 0;

  const alternatives = (): Part => {
    const parts = [sequence()];
    while (tokens[at] === "|") {
      at += 1;
      parts.push(sequence());
    }
    const [only] = parts;
    if (only && parts.length === 1) return only;
    return (text, places) => new Set(parts.flatMap((part) => [...part(text, places)]));
  };

  const sequence = (): Part => {
    const parts: Part[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") {
      const part = single(tokens[at++] as string);
      const [quantifier, sign, least, comma, most] = QUANTIFIER.exec(tokens[at] ?? "") ?? [];
      if (quantifier) at += 1;
      if (!quantifier) parts.push(part);
      else if (sign) parts.push(times(part, sign === "+" ? 1 : 0, sign === "?" ? 1 : Infinity));
      else parts.push(times(part, Number(least), Number(most || (comma ? Infinity : least))));
    }
    return (text, places) => parts.reduce((reached, part) => part(text, reached), places);
  };

  const single = (token: string): Part => {
    if (token[0] === "(") return group(token);
    if (/^([*+?{]|\\[1-9k])/.test(token)) throw new NotTested();
    if (token === "^") return where((_, place) => place === 0);
    if (token === "$") return where(({ characters }, place) => place === characters.length);
    if (/^\\b$/i.test(token)) return where(({ characters }, place) => isEdge(characters, place) === (token === "\\b"));
    return character(token);
  };

  const group = (start: string): Part => {
    if (/^\(\?<[=!]/.test(start)) throw new NotTested();
    const inner = alternatives();
    at += 1;
    if (start !== "(?=" && start !== "(?!") return inner;
    return where((text, place) => inner(text, new Set([place])).size > 0 === (start === "(?="));
  };

  return alternatives();
}

const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/;

function spend(text: Text, steps: number): void {
  text.steps -= steps;
  if (text.steps < 0) throw new NotTested();
}

/** Reads nothing: the places that fit. */
const where =
  (isFitting: (text: Text, place: number) => boolean): Part =>
  (text, places) => {
    spend(text, places.size);
    return new Set([...places].filter((place) => isFitting(text, place)));
  };

const isWord = (character = ""): boolean => /^\w/.test(character);
const isEdge = (characters: string[], place: number): boolean =>
  isWord(characters[place - 1]) !== isWord(characters[place]);

/** Reads one character, by the engine's own reading of `token`. */
function character(token: string): Part {
  const expression = new RegExp(`^${token}$`, "u");
  const isFitting = where(({ characters }, place) => expression.test(characters[place] ?? ""));
  return (text, places) => new Set([...isFitting(text, places)].map((place) => place + 1));
}

/** Reads a part from `least` to `most` times. Places that were reached before lead to nothing new. */
function times(part: Part, least: number, most: number): Part {
  return (text, places) => {
    let reached = places;
    for (let count = 0; count < least && reached.size; count++) {
      const before = reached;
      spend(text, before.size);
      reached = part(text, before);
      const isSame = reached.size === before.size && [...reached].every((place) => before.has(place));
      if (isSame) break; // another time leads to the same places
    }
    const all = new Set(reached);
    for (let count = least; count < most && reached.size; count++) {
      reached = new Set([...part(text, reached)].filter((place) => !all.has(place)));
      for (const place of reached) all.add(place);
    }
    return all;
  };
}
