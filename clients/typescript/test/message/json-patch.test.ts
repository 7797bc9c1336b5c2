import { expect, test } from "vitest";
import { applyPatch, CopyRoom } from "../../src/message/json-patch.js";

const DOUBLING = [
  { op: "copy", from: "/a", path: "/b" },
  { op: "copy", from: "", path: "/a" },
];

test("a patch with copies of copies is refused", () => {
  applyPatch({ a: 1 }, Array(8).fill(DOUBLING).flat());
  expect(() => applyPatch({ a: 1 }, Array(60).fill(DOUBLING).flat())).toThrow(RangeError);
});

test("the copies of several patches have one bound", () => {
  const copies = new CopyRoom();
  let document: unknown = { a: "x".repeat(1000) };
  expect(() => {
    for (let round = 0; round < 60; round += 1) document = applyPatch(document, DOUBLING, copies);
  }).toThrow(RangeError);
  expect(JSON.stringify(document).length).toBeLessThan(9 * 1024 * 1024);
  expect(() => applyPatch({ a: 1 }, DOUBLING, copies)).toThrow(RangeError);
});

test("a copied value is changed apart from its source", () => {
  const patch = [
    { op: "add", path: "/a/-", value: 1 },
    { op: "copy", from: "/a", path: "/b" },
    { op: "add", path: "/b/-", value: 2 },
    { op: "add", path: "/a/-", value: 3 },
  ];
  expect(applyPatch({ a: [] }, patch)).toEqual({ a: [1, 3], b: [1, 2] });
});

test("a patch copies each container once, and never changes the document", () => {
  let read = 0;
  const list = new Proxy([] as number[], {
    get(target, name, receiver) {
      if (name === Symbol.iterator) read += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  const patch = Array.from({ length: 1000 }, (_, number) => ({ op: "add", path: "/a/-", value: number }));
  expect(applyPatch({ a: list }, patch)).toEqual({ a: Array.from({ length: 1000 }, (_, number) => number) });
  expect([read, list.length]).toEqual([1, 0]);
});

test("a patch of which one operation does not fit changes nothing", () => {
  const document = { a: { b: [1] } };
  const patch = [
    { op: "add", path: "/a/b/-", value: 2 },
    { op: "remove", path: "/none" },
  ];
  expect(() => applyPatch(document, patch)).toThrow(RangeError);
  expect(document).toEqual({ a: { b: [1] } });
});
