import { isObject } from "../events/read-event.js";

/** The patch is malformed, or does not fit its document. */
function refuse(): never {
  throw new RangeError();
}

type Container = Record<string, unknown> | unknown[];

/**
 * `document` with the operations of `patch` applied in order: JSON Patch (RFC 6902), JSON Pointer (RFC 6901).
 *
 * The document is never changed: containers on the path of an operation are copied, all others are shared. Names are own
 * properties, `__proto__` too. Throws if an operation is malformed or does not fit; then none of the patch counts.
 */
export function applyPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) refuse();
  return patch.reduce(applied, document);
}

function applied(document: unknown, operation: unknown): unknown {
  if (!isObject(operation) || typeof operation.path !== "string") refuse();
  const { op, from, value } = operation;
  const path = steps(operation.path);
  const hasValue = Object.hasOwn(operation, "value");
  if (op === "add" && hasValue) return add(document, path, value);
  if (op === "remove") return remove(document, path);
  if (op === "replace" && hasValue) return replace(document, path, value);
  if (op === "test" && hasValue && isSame(valueAt(document, path), value)) return document;
  if (op === "move" && typeof from === "string") return move(document, steps(from), path);
  if (op === "copy" && typeof from === "string") return add(document, path, valueAt(document, steps(from)));
  refuse();
}

function steps(pointer: string): string[] {
  if (!pointer) return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) refuse();
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const add = (document: unknown, path: string[], value: unknown): unknown =>
  path.length ? changed(document, path, (parent, step) => insert(parent, step, value)) : value;

const replace = (document: unknown, path: string[], value: unknown): unknown =>
  path.length ? changed(document, path, (parent, step) => put(parent, place(parent, step), value)) : value;

function remove(document: unknown, path: string[]): unknown {
  if (!path.length) refuse();
  return changed(document, path, (parent, step) => {
    const key = place(parent, step);
    if (Array.isArray(parent)) parent.splice(key as number, 1);
    else delete parent[key];
  });
}

function move(document: unknown, source: string[], path: string[]): unknown {
  const value = valueAt(document, source);
  const isPrefix = source.every((step, index) => path[index] === step);
  if (isPrefix && source.length === path.length) return document;
  if (isPrefix) refuse();
  return add(remove(document, source), path, value);
}

/** A copy of `document` whose container at the end of `path` has been changed. */
function changed(document: unknown, path: string[], change: (parent: Container, step: string) => void): unknown {
  if (!isContainer(document)) refuse();
  const copy = Array.isArray(document) ? [...document] : { ...document };
  const [step, ...rest] = path as [string, ...string[]];
  if (!rest.length) change(copy, step);
  else {
    const key = place(copy, step);
    put(copy, key, changed(get(copy, key), rest, change));
  }
  return copy;
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
