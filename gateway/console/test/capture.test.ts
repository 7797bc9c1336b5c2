import { expect, test } from "vitest";
import type { Capture } from "../src/capture/capture.js";
import {
  CaptureLines,
  MOST_CAPTURES,
  MOST_LEVELS,
  MOST_LINES,
  NotACapture,
  readCaptures,
} from "../src/capture/capture-reader.js";
import { layOut, ROW, SILENCE_ROW } from "../src/capture/layout.js";
import { relatedTo } from "../src/capture/relations.js";
import { LANES } from "../src/capture/shapes.js";

const META = { kind: "capture", version: 1, id: "req_1", content: "full" };

const event = (t: number, sequence: number, read?: number) => ({
  kind: "event",
  t,
  ...(read !== undefined && { read }),
  event: { type: "content", data: { content: `${sequence}` }, metadata: { sequence } },
});

function captureOf(...lines: object[]): Capture {
  const found = new CaptureLines();
  for (const line of [META, ...lines]) found.add(JSON.stringify(line));
  return found.captures[0] as Capture;
}

const STREAM = captureOf(
  { kind: "read", t: 100, n: 0, data: "a" },
  { kind: "mark", t: 100, what: "commit", read: 0 },
  event(100, 0, 0),
  event(100, 1, 0),
  { kind: "write", t: 101, n: 0, read: 0, sequences: [0, 1], data: "A" },
  { kind: "read", t: 120, n: 1, data: "b" },
  { kind: "read", t: 130, n: 2, data: "c" },
  event(130, 2, 1),
  event(130, 3, 2),
  { kind: "write", t: 131, n: 1, read: 2, sequences: [2, 3], data: "BC" },
  { kind: "write", t: 9000, n: 2, data: ": ping" },
  { kind: "mark", t: 20000, what: "timeout", code: "UPSTREAM_TIMEOUT" },
  event(20000, 4),
  { kind: "write", t: 20000.1, n: 3, sequences: [4, 4], data: "E" },
);

function selectedBy(lane: (typeof LANES)[number], index: number): string[] {
  const isRelated = relatedTo(STREAM, STREAM.items[lane][index]);
  return LANES.flatMap((one) => STREAM.items[one].filter(isRelated).map((item) => `${one}${item.n}`));
}

test("items of one read are in one group, others by their time", () => {
  const groups = STREAM.groups.all.map((group) => [
    group.read.length,
    group.event.length,
    group.write.length,
    group.marks.length,
  ]);
  expect(groups).toEqual([
    [1, 2, 1, 1],
    [1, 1, 0, 0],
    [1, 1, 1, 0],
    [0, 0, 1, 0],
    [0, 1, 1, 1],
  ]);
});

test("layout shrinks long silences to a line and keeps their length", () => {
  const { tops, silences, height } = layOut(STREAM.groups.all);
  expect([...silences]).toEqual([0, 0, 0, 8870, 11000]);
  expect((tops[3] ?? 0) - (tops[2] ?? 0)).toBe(ROW + SILENCE_ROW);
  expect(height).toBeLessThan(300);
});

test("item selects what belongs to it in the other lanes", () => {
  expect(selectedBy("read", 0)).toEqual(["read0", "event0", "event1", "write0"]);
  expect(selectedBy("read", 1)).toEqual(["read1", "event2", "write1"]);
  expect(selectedBy("event", 3)).toEqual(["read2", "event3", "write1"]);
  expect(selectedBy("write", 1)).toEqual(["read1", "read2", "event2", "event3", "write1"]);
  expect(selectedBy("write", 2)).toEqual(["write2"]);
  expect(selectedBy("event", 4)).toEqual(["event4", "write3"]);
});

test("fields of any type in any line never throw", () => {
  const values = [
    null,
    true,
    -1,
    Number.POSITIVE_INFINITY,
    2 ** 60,
    "x",
    "\u0000",
    [],
    {},
    [[]],
    { type: 7 },
    "a".repeat(5000),
  ];
  const names = [
    "t",
    "n",
    "read",
    "what",
    "sequences",
    "event",
    "data",
    "base64",
    "sequence",
    "lane",
    "ms",
    "text",
    "code",
  ];
  for (const kind of ["read", "event", "write", "mark", "request", "attempt", "end", "response", "new"]) {
    for (const name of names) {
      for (const value of values) {
        const capture = captureOf({ kind, t: 1, [name]: value }, event(2, 0), { kind, t: 3, what: "x", [name]: value });
        layOut(capture.groups.all);
        for (const lane of LANES) for (const item of capture.items[lane]) relatedTo(capture, item)(item);
      }
    }
  }
});

async function read(text: BlobPart): Promise<CaptureLines> {
  return readCaptures(new Blob([text]), () => undefined, new AbortController().signal);
}

const LINE = `${JSON.stringify(META)}\n`;

test.each([
  ["", "empty"],
  ["\n\n", "no line"],
  ["data: hello\n\n", "not a capture file"],
  ["[1]\n", "not a capture file"],
  ['{"kind": "read"}\n', "not a capture file"],
  [LINE.replace('"version":1', '"version":2'), "newer streamweir"],
  [LINE.replace('"version":1', '"version":"<b>"'), "not a capture file"],
  [new Uint8Array([0x1f, 0x8b, 1, 2, 3]), "broken"],
  [new Uint8Array(5000).map((_, n) => (n * 31) % 256), "not a capture file"],
])("file that is no capture is refused with a reason: %#", async (text, reason) => {
  const failure = await read(text as BlobPart).catch((error) => error);
  expect(failure).toBeInstanceOf(NotACapture);
  expect(failure.message).toContain(reason);
});

test("file that breaks off is read up to its last whole line", async () => {
  const found = await read(`${LINE}{"kind":"read","t":1,"n":0,"data":"x"}\n{"kind":"wri`);
  expect(found.captures[0]?.items.read).toHaveLength(1);
  expect(found.notes).toEqual(["The file breaks off in its last line, which is passed over."]);
});

test("broken line in the middle is noted with its number", async () => {
  const found = await read(`${LINE}{"kind"\n{"kind":"read","t":1,"n":0,"data":"x"}\n`);
  expect(found.notes).toEqual(["Line 2 is not a JSON object. It is passed over."]);
  expect(found.captures[0]?.items.read).toHaveLength(1);
});

test("file with several captures has all of them", async () => {
  const found = await read(LINE + LINE.replace("req_1", "req_2"));
  expect(found.captures.map(({ meta }) => meta.id)).toEqual(["req_1", "req_2"]);
});

test("gzipped file is read like a plain one", async () => {
  const zipped = await new Response(new Blob([LINE]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
  expect((await read(zipped)).captures).toHaveLength(1);
});

test("file with too many lines shows its first part", async () => {
  const found = await read(LINE + '{"kind":"x"}\n'.repeat(MOST_LINES + 50_000));
  expect(found.notes[0]).toContain("only its first part");
});

test("a line that is nested too deep is passed over", async () => {
  for (const levels of [MOST_LEVELS, 20_000, 2_000_000]) {
    const deep = `{"kind":"event","t":1,"event":${"[".repeat(levels)}${"]".repeat(levels)}}\n`;
    const found = await read(LINE + deep + LINE);
    expect(found.captures.length).toBe(2);
    expect(found.captures[0]?.items.event).toEqual([]);
    expect(found.notes[0]).toContain("Line 2");
  }
});

test("of very many captures the first ones are read", async () => {
  const found = await read(LINE.repeat(50_000));
  expect(found.captures.length).toBe(MOST_CAPTURES);
  expect(found.notes[0]).toContain("too large");
});
