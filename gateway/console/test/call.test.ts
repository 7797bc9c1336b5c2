import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Endpoint } from "../src/data/rows.js";
import { shellQuoted } from "../src/text/shell-quoted.js";
import { bodyWith, type Choices, callOf, curlOf, namesIn, withFraming } from "../src/views/playground/call.js";

const ENDPOINT: Endpoint = {
  path: "/chat",
  methods: ["POST"],
  answers: ["standard"],
  framing: "sse",
  upstreams: ["demo:legacy"],
  demo: true,
  needs_key: false,
  samples: {},
};
const CHOICES: Choices = {
  endpoint: ENDPOINT,
  protocol: "ag-ui",
  framing: "ndjson",
  path: {},
  body: { message: 'it\'s $HOME `id` \\ "Tea"\n☕' },
  key: "",
};

/** The words that a shell makes of a line. */
function wordsOf(line: string): string[] {
  const printed = execFileSync("sh", ["-c", `for word in ${line}; do printf '%s\\0' "$word"; done`], {
    encoding: "utf8",
  });
  return printed.split("\0").slice(0, -1);
}

describe("curlOf", () => {
  test("a shell reads the same texts, whatever they hold", () => {
    const words = wordsOf(curlOf(CHOICES, "http://127.0.0.1:8080"));
    expect(words.slice(0, 3)).toEqual(["curl", "-N", "http://127.0.0.1:8080/chat"]);
    expect(words).toContain("X-Streamweir-Protocol: ag-ui");
    expect(words).toContain("Accept: application/x-ndjson");
    expect(JSON.parse(words.at(-1) ?? "")).toEqual(CHOICES.body);
  });

  test("names of the path are filled and encoded", () => {
    const endpoint = { ...ENDPOINT, path: "/bots/{bot}/*" };
    const line = curlOf({ ...CHOICES, endpoint, path: { bot: "a/b", rest: "/v1/run it" } }, "http://127.0.0.1:8080");
    expect(wordsOf(line)[2]).toBe("http://127.0.0.1:8080/bots/a%2Fb/v1/run%20it");
  });

  test("an endpoint for GET takes the fields as its query", () => {
    const endpoint = { ...ENDPOINT, methods: ["GET"] };
    const words = wordsOf(curlOf({ ...CHOICES, endpoint, body: { message: "a b&c" } }, "http://127.0.0.1:8080"));
    expect(words[2]).toBe("http://127.0.0.1:8080/chat?message=a+b%26c");
    expect(words).not.toContain("--data-raw");
    expect(callOf({ ...CHOICES, endpoint, body: { message: "a" } }, "play_1")).toMatchObject({
      query: { message: "a" },
    });
  });

  test("a quote ends and begins the word again", () => {
    expect(shellQuoted("it's")).toBe("'it'\\''s'");
  });
});

describe("bodyWith", () => {
  test("the message takes its place at any depth, and the sample stays", () => {
    const sample = {
      body: { stream: true, messages: [{ role: "user", content: "Hello" }] },
      place: ["messages", 0, "content"],
    };
    expect(bodyWith(sample, "Tea?")).toEqual({ stream: true, messages: [{ role: "user", content: "Tea?" }] });
    expect(sample.body.messages[0]?.content).toBe("Hello");
  });

  test("a sample without a place for a message stays as it is", () => {
    expect(bodyWith({ body: { id: 1 }, place: [] }, "Tea?")).toEqual({ id: 1 });
  });
});

test("names of a path are its places in braces, and the rest", () => {
  expect(namesIn("/bots/{bot}/{thread}/*")).toEqual(["bot", "thread", "rest"]);
});

test("withFraming asks for a whole answer in the body, since it decides before Accept", () => {
  expect(withFraming({ stream: true, model: "m" }, "json")).toEqual({ stream: false, model: "m" });
  expect(withFraming({ stream: true }, "sse")).toEqual({ stream: true });
  expect(withFraming({ message: "hi" }, "json")).toEqual({ message: "hi" });
});
