import { isObject } from "../events/read-event.js";

/** The patch is malformed, or does not fit its document. */
function refuse(): never {
  throw new RangeError();
}

type Container = Record<string, unknown> | unknown[];

const MOST_COPIED = 8 * 1024 * 1024;

/** Bounds what the `copy` operations on one document make, in characters of JSON: each may double the document. */
export class CopyRoom {
  #left = MOST_COPIED;

  /** A copy of a value of JSON. Throws if there is no room for it; then there is none for any later copy. */
  copyOf(value: unknown): unknown {
    const written = this.#left > 0 ? (JSON.stringify(value) as string) : "";
    this.#left = written.length < this.#left ? this.#left - written.length : 0;
    if (!written || !this.#left) refuse();
    return JSON.parse(written);
  }
}

/**
 * `document` with the operations of `patch` applied in order: JSON Patch (RFC 6902), JSON Pointer (RFC 6901).
 *
 * The document is never changed: containers on the way to a change are copied once by a patch, all others are shared. Names
 * are own properties, `__proto__` too. Throws if an operation is malformed or does not fit; then none of the patch counts.
 */
export function applyPatch(document: unknown, patch: unknown, copies = new CopyRoom()): unknown {
  if (!Array.isArray(patch)) refuse();
  const change = new Change(copies);
  return patch.reduce((before, operation) => change.applied(before, operation), document);
}

/** Applies the operations of one patch. */
class Change {
  readonly #copies: CopyRoom;
  /** The containers that this patch has made. Nothing else refers to them: they may be changed. */
  readonly #made = new Set<Container>();

  constructor(copies: CopyRoom) {
    this.#copies = copies;
  }

  applied(document: unknown, operation: unknown): unknown {
    if (!isObject(operation) || typeof operation.path !== "string") refuse();
    const { op, from, value } = operation;
    const path = steps(operation.path);
    const hasValue = Object.hasOwn(operation, "value");
    if (op === "add" && hasValue) return this.#add(document, path, value);
    if (op === "remove") return this.#remove(document, path);
    if (op === "replace" && hasValue) return this.#replace(document, path, value);
    if (op === "test" && hasValue && isSame(valueAt(document, path), value)) return document;
    if (op === "move" && typeof from === "string") return this.#move(document, steps(from), path);
    if (op === "copy" && typeof from === "string")
      return this.#add(document, path, this.#copies.copyOf(valueAt(document, steps(from))));
    refuse();
  }

  #add(document: unknown, path: string[], value: unknown): unknown {
    return path.length ? this.#changed(document, path, (parent, step) => insert(parent, step, value)) : value;
  }

  #replace(document: unknown, path: string[], value: unknown): unknown {
    return path.length
      ? this.#changed(document, path, (parent, step) => put(parent, place(parent, step), value))
      : value;
  }

  #remove(document: unknown, path: string[]): unknown {
    if (!path.length) refuse();
    return this.#changed(document, path, (parent, step) => {
      const key = place(parent, step);
      if (Array.isArray(parent)) parent.splice(key as number, 1);
      else delete parent[key];
    });
  }

  #move(document: unknown, source: string[], path: string[]): unknown {
    const value = valueAt(document, source);
    const isPrefix = source.every((step, index) => path[index] === step);
    if (isPrefix && source.length === path.length) return document;
    if (isPrefix) refuse();
    return this.#add(this.#remove(document, source), path, value);
  }

  /** `document` with a changed container at the end of `path`. */
  #changed(document: unknown, path: string[], change: (parent: Container, step: string) => void): unknown {
    const own = this.#own(document);
    const [step, ...rest] = path as [string, ...string[]];
    if (!rest.length) change(own, step);
    else {
      const key = place(own, step);
      put(own, key, this.#changed(get(own, key), rest, change));
    }
    return own;
  }

  /** A container that may be changed: a copy, unless this patch has made it. */
  #own(container: unknown): Container {
    if (!isContainer(container)) refuse();
    if (this.#made.has(container)) return container;
    const copy = Array.isArray(container) ? [...container] : { ...container };
    this.#made.add(copy);
    return copy;
  }
}

function steps(pointer: string): string[] {
  if (!pointer) return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) refuse();
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const valueAt = (document: unknown, path: string[]): unknown =>
  path.reduce((value, step) => get(value as Container, place(value, step)), document);

/** The key or the index of a value that is there. */
function place(parent: unknown, step: string): string | number {
  if (isObject(parent) && Object.hasOwn(parent, step)) return step;
  if (Array.isArray(parent) && indexOf(step) < parent.length) return indexOf(step);
  refuse();
}

function indexOf(step: string): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(step)) refuse();
  return Number(step);
}

function insert(parent: Container, step: string, value: unknown): void {
  if (!Array.isArray(parent)) return put(parent, step, value);
  const index = step === "-" ? parent.length : indexOf(step);
  if (index > parent.length) refuse();
  parent.splice(index, 0, value);
}

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;
const get = (parent: Container, key: string | number): unknown => (parent as Record<string | number, unknown>)[key];

/** Sets an own property: `parent.__proto__ = value` would change the prototype of the object. */
function put(parent: Container, key: string | number, value: unknown): void {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(get(one, key), get(other, key)))
  );
}
