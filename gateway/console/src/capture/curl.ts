// The client's request of a capture as a line for a POSIX shell.

import { shellQuoted } from "../text/shell-quoted.js";
import { fromBase64 } from "./item-text.js";
import { asText, isObject, type Json } from "./shapes.js";

/** Headers that curl sets itself, or that belong to one connection only. */
const OWN = new Set([
  "host",
  "content-length",
  "connection",
  "transfer-encoding",
  "accept-encoding",
  "expect",
  "user-agent",
]);
const HIDDEN = "[redacted]";

/**
 * Returns the command; undefined: the request, or its body, was not kept.
 *
 * `gateway`: its address; empty: the one that the request was sent to. A hidden credential becomes a variable of the shell: `$KEY`, or the header's name in capitals.
 */
export function curlOf(request: Json | undefined, gateway: string): string | undefined {
  const method = asText(request?.method);
  const target = asText(request?.target);
  if (request === undefined || method === undefined || target === undefined) return undefined;
  const headers = headersOf(request);
  const host = headers.find(([name]) => name === "host")?.[1];
  const body = bodyArgument(request);
  if (body === undefined) return undefined;
  const parts = [
    "curl -N",
    /[[\]{}]/.test(target) ? "-g" : "", // else curl takes the brackets for a range of URLs
    method === "POST" && body.argument ? "" : `-X ${shellQuoted(method)}`,
    shellQuoted(`${gateway || `http://${host ?? "127.0.0.1:8080"}`}${target}`),
  ];
  for (const [name, value] of headers) if (!OWN.has(name)) parts.push(`-H ${headerArgument(name, value)}`);
  if (body.argument && !headers.some(([name]) => name === "content-type")) {
    parts.push("-H 'Content-Type:'"); // else curl says that the body is a form
  }
  return [body.before + parts.filter(Boolean).join(" "), body.argument].filter(Boolean).join(" ");
}

function headersOf(request: Json): [string, string][] {
  if (!Array.isArray(request.headers)) return [];
  return request.headers.flatMap((pair: unknown): [string, string][] => {
    if (!Array.isArray(pair) || typeof pair[0] !== "string" || typeof pair[1] !== "string") return [];
    return /[\r\n\0]/.test(pair[0] + pair[1]) ? [] : [[pair[0].toLowerCase(), pair[1]]];
  });
}

function headerArgument(name: string, value: string): string {
  if (value === "") return shellQuoted(`${name};`);
  if (!value.includes(HIDDEN)) return shellQuoted(`${name}: ${value}`);
  if (name === "authorization") return `"Authorization: Bearer $KEY"`;
  return `"${name.replace(/[^\w-]/g, "")}: $${name.toUpperCase().replace(/\W/g, "_")}"`;
}

interface BodyArgument {
  readonly before: string;
  readonly argument: string;
}

function bodyArgument(request: Json): BodyArgument | undefined {
  const body = isObject(request.body) ? request.body : {};
  const text = asText(body.data);
  if (text?.includes("\0")) return undefined;
  if (text !== undefined) return { before: "", argument: text && `--data-raw ${shellQuoted(text)}` };
  const encoded = asText(body.base64);
  if (encoded !== undefined && fromBase64(encoded)) {
    return { before: `printf %s ${shellQuoted(encoded)} | base64 -d | `, argument: "--data-binary @-" };
  }
  return body.bytes === 0 || body.bytes === undefined ? { before: "", argument: "" } : undefined;
}
