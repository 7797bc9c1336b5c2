// The front page: what to copy, and trials. All texts of the gateway and of upstreams are set as text, never as HTML.
"use strict";
const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const rows = [...document.querySelectorAll(".endpoints tbody tr")];
const endpoints = new Map(facts.endpoints.map((endpoint) => [endpoint.path, endpoint]));
const [FILTER_FROM, MOST_ROWS, SAME_MOMENT] = [9, 2000, 40];
const said = document.querySelector(".said");
const outcome = byId("outcome");
const [endpointField, protocolField, messageField] = [byId("endpoint"), byId("protocol"), byId("message")];
let running = null;

// --- requests -----------------------------------------------------------------------------------------------

const question = (endpoint) => {
  const { body, place } = facts.samples[endpoint.samples[endpoint.answers[0]]];
  const text = place.reduce((value, key) => value[key], body);
  return typeof text === "string" ? text : "Hello";
};

function bodyOf(endpoint, protocol, message) {
  const sample = facts.samples[endpoint.samples[protocol]];
  const body = structuredClone(sample.body);
  const last = sample.place.at(-1);
  if (last !== undefined) sample.place.slice(0, -1).reduce((value, key) => value[key], body)[last] = message;
  if (endpoint.model !== null) body.model = endpoint.model;
  return body;
}

// Returns URL, method, headers and body of the request of a client.
function requestOf(endpoint, protocol, message) {
  const url = new URL(location.origin + endpoint.address);
  if (!endpoint.body && !endpoint.relay) url.searchParams.set("message", message);
  const headers = {};
  if (protocol !== endpoint.answers[0]) headers["X-Streamweir-Protocol"] = protocol;
  if (endpoint.key) headers["X-Api-Key"] = "KEY";
  if (endpoint.body) headers["Content-Type"] = "application/json";
  const body = endpoint.body ? JSON.stringify(bodyOf(endpoint, protocol, message)) : null;
  return { url: url.href, method: endpoint.method, headers, body };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOf({ url, method, headers, body }) {
  const named = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const isDefault = method === (body === null ? "GET" : "POST");
  const parts = [...(isDefault ? [] : [`-X ${method}`]), quoted(url), ...named];
  return `curl -N ${[...parts, ...(body === null ? [] : [`-d ${quoted(body)}`])].join(" ")}`;
}

function scriptOf({ url, method, headers, body }) {
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    `  headers: ${JSON.stringify(headers)},`,
    ...(body === null ? [] : [`  body: JSON.stringify(${body}),`]),
    "});",
    "const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();",
    "for (;;) {",
    "  const { done, value } = await reader.read();",
    "  if (done) break;",
    "  console.log(value);",
    "}",
  ].join("\n");
}

// --- copying ------------------------------------------------------------------------------------------------

// A page that was not loaded from this machine or over TLS has no clipboard; the older command takes a selection.
async function copy(text, description) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = Object.assign(document.createElement("textarea"), { className: "copied", value: text });
    const before = document.activeElement;
    document.body.append(field);
    field.select();
    done = document.execCommand("copy");
    field.remove();
    before?.focus();
  }
  said.textContent = done ? `Copied: ${description}` : `The browser does not let this page copy: ${text}`;
}

function copyOfRow(button) {
  const endpoint = endpoints.get(button.closest("tr").dataset.path);
  const request = requestOf(endpoint, endpoint.answers[0], question(endpoint));
  const isCurl = button.dataset.copy === "curl";
  copy(isCurl ? curlOf(request) : scriptOf(request), `${isCurl ? "curl" : "JavaScript"} for ${endpoint.path}`);
}

// --- choosing -----------------------------------------------------------------------------------------------

const option = (text) => new Option(text, text);
const chosen = () => endpoints.get(endpointField.value);
const scenario = () => document.querySelector("[name=scenario]:checked").value;
const messageToSend = () =>
  [messageField.value, chosen().demo ? scenario() : ""].filter(Boolean).join(" ") || "Hello";

function choose(path) {
  endpointField.value = path;
  const endpoint = chosen();
  protocolField.replaceChildren(...endpoint.answers.map(option));
  byId("scenarios").hidden = !endpoint.demo;
  messageField.value = question(endpoint);
  titles();
  for (const row of rows) row.classList.toggle("picked", row.dataset.path === path);
}

function titles() {
  byId("upstream-title").textContent = `Upstream: ${chosen().speaks}`;
  byId("client-title").textContent = `Client: ${protocolField.value}`;
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) {
    const shown = [".path", ".speaks", ".answers"].map((name) => row.querySelector(name).textContent).join(" ");
    row.hidden = !words.every((word) => shown.toLowerCase().includes(word));
  }
  document.querySelector(".no-match").hidden = rows.some((row) => !row.hidden);
}

// --- trials -------------------------------------------------------------------------------------------------

// Control characters and those that turn the direction of text are shown as symbols.
const visible = (text) =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (letter) => {
    const code = letter.codePointAt(0);
    return code < 32 ? (code === 13 ? "" : String.fromCodePoint(0x2400 + code)) : `<U+${code.toString(16).toUpperCase()}>`;
  });

// Bytes of the upstream begin a row; the writes that follow them stand beside them.
class Frames {
  constructor(body) {
    this.body = body;
    this.body.replaceChildren();
    this.row = null;
    this.at = 0;
    this.hasNote = false;
  }

  add({ t, upstream, client }) {
    if (typeof upstream === "string") {
      this.begin(t);
      this.row.cells[1].textContent = visible(upstream.trimEnd());
    } else if (typeof client === "string") {
      const isAnswer = this.row && (t - this.at < SAME_MOMENT || !this.row.cells[2].textContent);
      if (!isAnswer) this.begin(t);
      const cell = this.row.cells[2];
      cell.textContent += (cell.textContent && "\n") + visible(client.trimEnd());
    }
  }

  note(text) {
    this.begin(0);
    this.row.cells[1].textContent = text;
  }

  begin(t) {
    if (this.body.rows.length >= MOST_ROWS) this.body.deleteRow(0);
    const scroller = this.body.closest(".scroll");
    const isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
    this.row = this.body.insertRow();
    this.at = t;
    this.row.insertCell().textContent = String(Math.round(t));
    this.row.insertCell().className = "upstream";
    this.row.insertCell().className = "client";
    if (isAtEnd) requestAnimationFrame(() => scroller.scrollTo(0, scroller.scrollHeight));
  }
}

async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield* lines.filter(Boolean).map((line) => JSON.parse(line));
  }
}

const say = (text, isBad = false) => {
  outcome.textContent = text;
  outcome.classList.toggle("bad", isBad);
};

async function follow(response, frames) {
  let status = 0;
  for await (const line of linesOf(response)) {
    if (line.client?.status) status = line.client.status;
    frames.add(line);
    if (line.end === undefined) continue;
    const seconds = (line.t / 1000).toFixed(1);
    const isBad = line.end !== "whole" || status >= 400;
    say(line.end === "whole" ? `Status ${status}, over after ${seconds} s.` : `The response broke off after ${seconds} s.`, isBad);
  }
}

async function send() {
  const endpoint = chosen();
  const protocol = protocolField.value;
  const asked = { endpoint: endpoint.path, protocol };
  if (endpoint.body) asked.body = bodyOf(endpoint, protocol, messageToSend());
  else if (!endpoint.relay) asked.query = { message: messageToSend() };
  const frames = new Frames(byId("frames"));
  titles();
  if (!endpoint.demo) frames.note("Frames of this upstream are not shown on this page: it is not a demo.");
  running = new AbortController();
  byId("send").disabled = !(byId("stop").disabled = false);
  say("Running ...");
  try {
    const response = await fetch("/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(asked),
      signal: running.signal,
    });
    if (response.ok) await follow(response, frames);
    else say(`Refused with status ${response.status}: ${(await response.json()).error?.message ?? ""}`, true);
  } catch {
    say(running.signal.aborted ? "Stopped: the client has left." : "The gateway does not answer.", !running.signal.aborted);
  } finally {
    byId("send").disabled = !(byId("stop").disabled = true);
  }
}

// --- wiring -------------------------------------------------------------------------------------------------

for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", () => copyOfRow(button));
for (const button of document.querySelectorAll(".path")) {
  button.addEventListener("click", () => {
    choose(button.closest("tr").dataset.path);
    messageField.focus();
  });
}
for (const cell of document.querySelectorAll(".answers, .speaks")) cell.title = cell.textContent;
if (rows.length >= FILTER_FROM) document.querySelector(".filter").hidden = false;
byId("filter").addEventListener("input", ({ target }) => filter(target.value));
byId("copy-try").addEventListener("click", () => {
  copy(curlOf(requestOf(chosen(), protocolField.value, messageToSend())), `curl for ${chosen().path}`);
});
byId("stop").addEventListener("click", () => running?.abort());
byId("try").addEventListener("submit", (event) => {
  event.preventDefault();
  if (byId("stop").disabled) send();
});
endpointField.append(...[...endpoints.keys()].map(option));
endpointField.addEventListener("change", () => choose(endpointField.value));
protocolField.addEventListener("change", titles);
if (endpoints.size) choose(endpoints.keys().next().value);
else byId("send").disabled = true;
