// One request of the playground, and its curl line.

import type { Endpoint, Sample } from "../../data/rows.js";
import { shellQuoted } from "../../text/shell-quoted.js";

/** The ways in which a demo is told to go; the word stands in the message. */
export const DEMO_WAYS = ["answer", "fail", "cut", "stall", "ask"] as const;
export type DemoWay = (typeof DEMO_WAYS)[number];

export const FRAMINGS = ["sse", "ndjson", "json"] as const;

const ACCEPT: Readonly<Record<string, string>> = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
  json: "application/json",
};
const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

/** The choices of the form. */
export interface Choices {
  readonly endpoint: Endpoint;
  readonly protocol: string;
  readonly framing: string;
  /** Values of the `{names}` in the path, and `rest` for `/*`. */
  readonly path: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly key: string;
}

/** The body of a POST to the console's `playground`. */
export interface Call {
  readonly endpoint: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly protocol: string;
  readonly framing: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly key?: string;
}

/** Returns the names whose values the path of an endpoint needs. */
export function namesIn(path: string): string[] {
  const names = [...path.matchAll(/\{([^{}]+)\}/g)].map((found) => found[1] ?? "");
  return path.endsWith("/*") ? [...names, "rest"] : names;
}

/** Returns the message with the word that makes a demo go another way. */
export function withWay(message: string, way: DemoWay): string {
  return way === "answer" ? message : `${message} (${way})`;
}

/** Returns a sample's body with another message in it. */
export function bodyWith(sample: Sample, message: string): unknown {
  return put(sample.body, sample.place, message);
}

/** Returns a body whose `stream`, if it has one, fits the framing: it decides before the header `Accept`. */
export function withFraming(body: unknown, framing: string): unknown {
  const hasStream = typeof body === "object" && body !== null && "stream" in body;
  return hasStream ? { ...body, stream: framing !== "json" } : body;
}

function put(value: unknown, [key, ...rest]: readonly (string | number)[], text: string): unknown {
  if (key === undefined) return typeof value === "string" || value === undefined ? text : value;
  if (Array.isArray(value)) return value.map((item, at) => (at === key ? put(item, rest, text) : item));
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  return { ...object, [key]: put(object[key], rest, text) };
}

function methodOf(endpoint: Endpoint): string {
  return endpoint.methods.includes("POST") || !endpoint.methods.length ? "POST" : (endpoint.methods[0] ?? "POST");
}

export function callOf(choices: Choices, requestId: string): Call {
  const hasBody = !WITHOUT_BODY.has(methodOf(choices.endpoint));
  return {
    endpoint: choices.endpoint.path,
    path: choices.path,
    query: hasBody ? {} : asQuery(choices.body),
    protocol: choices.protocol,
    framing: choices.framing,
    headers: { "X-Request-Id": requestId },
    ...(hasBody && { body: choices.body }),
    ...(choices.key && { key: choices.key }),
  };
}

/** Returns a line for a shell that sends the same request to the gateway itself. */
export function curlOf(choices: Choices, gateway: string): string {
  const method = methodOf(choices.endpoint);
  const hasBody = !WITHOUT_BODY.has(method);
  const query = hasBody ? "" : new URLSearchParams(asQuery(choices.body)).toString();
  const words = ["curl", "-N", shellQuoted(gateway + pathOf(choices) + (query && `?${query}`))];
  if (method !== "POST") words.push("-X", method);
  if (choices.protocol) words.push("-H", shellQuoted(`X-Streamweir-Protocol: ${choices.protocol}`));
  words.push("-H", shellQuoted(`Accept: ${ACCEPT[choices.framing] ?? "*/*"}`));
  if (choices.key) words.push("-H", shellQuoted(`Authorization: Bearer ${choices.key}`));
  if (hasBody)
    words.push("-H", shellQuoted("Content-Type: application/json"), "--data-raw", shellQuoted(textOf(choices.body)));
  return words.join(" ");
}

function pathOf({ endpoint, path }: Choices): string {
  const filled = endpoint.path.replace(/\{([^{}]+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const rest = (path.rest ?? "").split("/").filter(Boolean).map(encodeURIComponent).join("/");
  return filled.endsWith("/*") ? filled.slice(0, -1) + rest : filled;
}

function asQuery(body: unknown): Record<string, string> {
  if (typeof body !== "object" || body === null) return {};
  const texts = Object.entries(body).map(([name, value]) => [name, typeof value === "string" ? value : textOf(value)]);
  return Object.fromEntries(texts);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
