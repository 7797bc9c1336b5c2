import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlOf } from "../src/capture/curl.js";

const request = (body: object, ...headers: [string, string][]) => ({
  kind: "request",
  side: "client",
  method: "POST",
  target: "/chat?a=b&c='d'",
  headers: [["host", "127.0.0.1:8080"], ["content-length", "9"], ...headers],
  body,
});

/** Runs a line with a `curl` that prints its arguments, one per line end, and its input. */
function argumentsOf(line: string, environment: Record<string, string> = {}): string[] {
  const shell = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; case "$*" in *@-*) cat;; esac; }; ${line}`;
  return execFileSync("sh", ["-c", shell], { env: { ...process.env, ...environment } })
    .toString()
    .split("\0");
}

const HOSTILE = [
  'it\'s $(id) `id` "x" \\ !',
  "two\nlines",
  "-d @/etc/passwd",
  "@/etc/passwd",
  "订单 📦",
  "'; rm -rf / #",
];

test.each(HOSTILE)("command with a hostile body reaches curl unchanged: %j", (data) => {
  const line = curlOf(request({ data }), "") as string;
  const url = "http://127.0.0.1:8080/chat?a=b&c='d'";
  expect(argumentsOf(line).slice(0, 6)).toEqual(["-N", url, "-H", "Content-Type:", "--data-raw", data]);
});

test.each(HOSTILE.filter((value) => !value.includes("\n")))(
  "command with a hostile header reaches curl unchanged: %j",
  (value) => {
    const line = curlOf(request({ data: "{}" }, ["x-a", value]), "") as string;
    expect(argumentsOf(line)).toContain(`x-a: ${value}`);
  },
);

test("command with bytes that are no text sends them by a pipe", () => {
  const line = curlOf(request({ base64: "/v8A" }), "") as string;
  expect(line).toContain("base64 -d");
  expect(argumentsOf(line)).toContain("@-");
});

test("command with a hidden credential takes it from the shell", () => {
  const line = curlOf(
    request({ data: "{}" }, ["authorization", "[redacted]"], ["x-api-key", "[redacted]"]),
    "",
  ) as string;
  const given = argumentsOf(line, { KEY: "k-1", X_API_KEY: "k-2" });
  expect(given).toContain("Authorization: Bearer k-1");
  expect(given).toContain("x-api-key: k-2");
});

test("command without a body is sent with the method of the request", () => {
  expect(argumentsOf(curlOf(request({ data: "" }), "") as string)).toContain("POST");
});

test("command with a body has the content type of the request, or none", () => {
  const typed = curlOf(request({ data: "{}" }, ["content-type", "text/plain"]), "") as string;
  expect(argumentsOf(typed)).toContain("content-type: text/plain");
  expect(argumentsOf(typed)).not.toContain("Content-Type:");
});

test("command with brackets in the address takes them as they are", () => {
  const asked = { ...request({ data: "{}" }), target: "/chat?filter[a]={b}" };
  expect(argumentsOf(curlOf(asked, "") as string)).toContain("-g");
});

test("request whose body was not kept gives no command", () => {
  expect(curlOf(request({ bytes: 12 }), "")).toBeUndefined();
  expect(curlOf(undefined, "")).toBeUndefined();
});
