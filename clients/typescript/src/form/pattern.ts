/**
 * Patterns of a JSON Schema, which come from outside: matched in a time that grows with pattern times text.
 *
 * The engine of the language tries one way after the other, so that `(a+)+$` takes minutes for thirty letters. Here
 * all ways are followed at once, character by character (Thompson's construction). A single character is tested by
 * the engine of the language: classes and escapes are then exactly its own.
 */
type Node =
  | { kind: "char"; test: (char: string) => boolean }
  | { kind: "at"; test: (before: string, after: string) => boolean }
  | { kind: "look"; node: Node; isNegative: boolean }
  | { kind: "all"; nodes: Node[] }
  | { kind: "any"; nodes: Node[] }
  | { kind: "times"; node: Node; least: number; most: number };

type Step =
  | { op: "char"; test: (char: string) => boolean }
  | { op: "at"; test: (before: string, after: string) => boolean }
  | { op: "look"; program: Step[]; isNegative: boolean }
  | { op: "split"; to: number[] }
  | { op: "end" };

/** Thrown for what is no expression, or one that is not followed here. */
class NotTested extends Error {}

const LONGEST_PATTERN = 500;
const MOST_STEPS = 5000;
const MOST_WORK = 20_000_000;

/** Whether `text` matches; true where the pattern is no expression, too long, or too dear to be tested. */
export function matches(pattern: string, text: string): boolean {
  if (pattern.length > LONGEST_PATTERN) return true;
  try {
    new RegExp(pattern, "u");
    const program = compiled(new Parser(pattern).parse());
    const characters = [...text];
    if (program.length * (characters.length + 1) > MOST_WORK) return true;
    return runs(program, characters, 0, false);
  } catch {
    return true;
  }
}

class Parser {
  #at = 0;
  readonly #characters: string[];

  constructor(pattern: string) {
    this.#characters = [...pattern];
  }

  parse(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#characters.length) throw new NotTested();
    return node;
  }

  #alternatives(): Node {
    const nodes = [this.#sequence()];
    while (this.#takes("|")) nodes.push(this.#sequence());
    return nodes.length === 1 ? (nodes[0] as Node) : { kind: "any", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#characters.length && this.#next !== "|" && this.#next !== ")") nodes.push(this.#repeated());
    return { kind: "all", nodes };
  }

  #repeated(): Node {
    const node = this.#atom();
    const times = this.#times();
    if (!times) return node;
    this.#takes("?");
    return { kind: "times", node, least: times[0], most: times[1] };
  }

  #times(): [number, number] | null {
    if (this.#takes("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#takes("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#takes("?")) return [0, 1];
    const found = /^\{(\d+)(,?)(\d*)\}/.exec(this.#characters.slice(this.#at, this.#at + 40).join(""));
    if (!found) return null;
    this.#at += found[0].length;
    const least = Number(found[1]);
    return [least, found[3] ? Number(found[3]) : found[2] ? Number.POSITIVE_INFINITY : least];
  }

  #atom(): Node {
    const first = this.#take();
    if (first === "(") return this.#group();
    if (first === "[") return this.#class();
    if (first === "\\") return this.#escape();
    if (first === "^") return { kind: "at", test: (before) => before === "" };
    if (first === "$") return { kind: "at", test: (_, after) => after === "" };
    return single(first === "." ? "." : first);
  }

  #group(): Node {
    let isNegative: boolean | null = null;
    if (this.#takes("?")) {
      const kind = this.#take();
      if (kind === "=" || kind === "!") isNegative = kind === "!";
      else if (kind === "<" && !["=", "!"].includes(this.#next)) while (this.#take() !== ">");
      else if (kind !== ":") throw new NotTested();
    }
    const node = this.#alternatives();
    if (!this.#takes(")")) throw new NotTested();
    return isNegative === null ? node : { kind: "look", node, isNegative };
  }

  #class(): Node {
    let source = "[";
    for (let char = this.#take(); ; char = this.#take()) {
      source += char;
      if (char === "\\") source += this.#take();
      else if (char === "]") return single(source);
    }
  }

  #escape(): Node {
    const char = this.#take();
    if (char === "b" || char === "B") {
      const isWord = (neighbour: string) => /^\w/.test(neighbour);
      return { kind: "at", test: (before, after) => (isWord(before) !== isWord(after)) === (char === "b") };
    }
    if (/[1-9k]/.test(char)) throw new NotTested();
    let source = `\\${char}`;
    const rest = /^(u\{[^}]*\}|u[dD][89abAB]..\\u....|u....|x..|c.|[pP]\{[^}]*\})/.exec(
      char + this.#characters.slice(this.#at, this.#at + 60).join(""),
    );
    if (rest) {
      source = `\\${rest[0]}`;
      this.#at += rest[0].length - 1;
    }
    return single(source);
  }

  get #next(): string {
    return this.#characters[this.#at] ?? "";
  }

  #take(): string {
    const char = this.#characters[this.#at++];
    if (char === undefined) throw new NotTested();
    return char;
  }

  #takes(char: string): boolean {
    if (this.#next !== char) return false;
    this.#at += 1;
    return true;
  }
}

/** One character, by the engine's own reading of `source`. */
function single(source: string): Node {
  const isLiteral = source.length === 1 && !/[.\\^$*+?()[\]{}|/]/.test(source);
  if (isLiteral) return { kind: "char", test: (char) => char === source };
  const expression = new RegExp(`^(?:${source})$`, "u");
  return { kind: "char", test: (char) => expression.test(char) };
}

function compiled(node: Node): Step[] {
  const program: Step[] = [];
  const add = (step: Step): number => {
    if (program.push(step) > MOST_STEPS) throw new NotTested();
    return program.length - 1;
  };
  const emit = (part: Node): void => {
    if (part.kind === "char") add({ op: "char", test: part.test });
    else if (part.kind === "at") add({ op: "at", test: part.test });
    else if (part.kind === "look") add({ op: "look", program: compiled(part.node), isNegative: part.isNegative });
    else if (part.kind === "all") part.nodes.forEach(emit);
    else if (part.kind === "any") emitAny(part.nodes);
    else emitTimes(part.node, part.least, part.most);
  };
  const split = () => {
    const step = { op: "split" as const, to: [] as number[] };
    add(step);
    return step;
  };
  const emitAny = (nodes: Node[]): void => {
    const choice = split();
    const exits = nodes.map((part) => {
      choice.to.push(program.length);
      emit(part);
      return split();
    });
    for (const exit of exits) exit.to.push(program.length);
  };
  const emitTimes = (part: Node, least: number, most: number): void => {
    for (let count = 0; count < least; count++) emit(part);
    if (most === Number.POSITIVE_INFINITY) {
      const loop = split();
      const start = program.indexOf(loop);
      loop.to.push(program.length);
      emit(part);
      split().to.push(start);
      loop.to.push(program.length);
      return;
    }
    const exits = [];
    for (let count = least; count < most; count++) {
      const choice = split();
      choice.to.push(program.length);
      exits.push(choice);
      emit(part);
    }
    for (const exit of exits) exit.to.push(program.length);
  };
  emit(node);
  add({ op: "end" });
  return program;
}

/** Whether the program matches from `start`, or from any later place unless it is anchored there. */
function runs(program: Step[], text: string[], start: number, isAnchored: boolean): boolean {
  let states = new Set<number>();
  for (let at = start; at <= text.length; at++) {
    if (at === start || !isAnchored) states.add(0);
    const reached = closure(program, states, text, at);
    if (reached === null) return true;
    if (!reached.length && isAnchored) return false;
    states = new Set();
    for (const place of reached) {
      const step = program[place] as Step & { op: "char" };
      if (at < text.length && step.test(text[at] as string)) states.add(place + 1);
    }
  }
  return false;
}

/** The character tests that `states` lead to without reading; null where they lead to the end. */
function closure(program: Step[], states: Set<number>, text: string[], at: number): number[] | null {
  const waiting = [...states];
  const reached: number[] = [];
  const seen = new Set(waiting);
  const go = (place: number) => {
    if (seen.has(place)) return;
    seen.add(place);
    waiting.push(place);
  };
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const step = program[place] as Step;
    if (step.op === "end") return null;
    if (step.op === "char") reached.push(place);
    else if (step.op === "split") step.to.forEach(go);
    else if (step.op === "at" ? step.test(text[at - 1] ?? "", text[at] ?? "") : looks(step, text, at)) go(place + 1);
  }
  return reached;
}

const looks = (step: Step & { op: "look" }, text: string[], at: number): boolean =>
  runs(step.program, text, at, true) !== step.isNegative;
