// Chromium, driven by lines: one JSON order a line on stdin, one JSON answer a line on stdout.
//
//   node driver.mjs FOLDER CHROMIUM      FOLDER: where playwright-core is installed
//
//   {"page": URL, "action": NAME, "target": URL, ...}   an action of a page that is shown at `page`
//   {"action": "open", "target": URL}                   what somebody types into the address bar
//
// Every order has a browser context of its own: no cookie, cache or connection comes from an earlier one. All
// names under .example are this machine, as an attacker's name server would have it.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const ORDER_TIME = 20_000; // ms; then the driver gives up, and takes the browser with it
const [folder, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");

// They run in the page. What the browser keeps from the page comes back as `refused`.
const actions = {
  async request({ target, init }) {
    try {
      const response = await fetch(target, init);
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
    } catch {
      return { refused: true };
    }
  },

  // Says at `seen` that the first piece is there, and reads on.
  async stream({ target, init, seen }) {
    const response = await fetch(target, init);
    const decoder = new TextDecoder();
    let text = "";
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return { status: response.status, text };
      if (!text) await fetch(seen);
      text += decoder.decode(value, { stream: true });
    }
  },

  events({ target }) {
    return new Promise((resolve) => {
      const source = new EventSource(target);
      source.onmessage = ({ data }) => {
        source.close();
        resolve({ text: data });
      };
      source.onerror = () => {
        source.close();
        resolve({ refused: true });
      };
    });
  },

  // Opens a WebSocket, sends a message, and returns the first one that comes.
  socket({ target, protocols, send }) {
    return new Promise((resolve) => {
      const socket = new WebSocket(target, protocols);
      socket.onopen = () => socket.send(send);
      socket.onmessage = ({ data }) => {
        resolve({ text: data, protocol: socket.protocol });
        socket.close();
      };
      socket.onerror = () => resolve({ refused: true });
    });
  },

  image({ target }) {
    return new Promise((resolve) => {
      const image = new Image();
      image.onload = image.onerror = () => resolve({});
      image.src = target;
    });
  },

  form({ target, method }) {
    const frame = Object.assign(document.createElement("iframe"), { name: "answer" });
    const form = document.createElement("form");
    Object.assign(form, { action: target, method, enctype: "text/plain", target: frame.name });
    document.body.append(frame, form);
    return new Promise((resolve) => {
      frame.onload = () => resolve({});
      form.submit();
    });
  },
};

async function carryOut(browser, { page: address, action, ...given }) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  try {
    const page = await context.newPage();
    if (action === "open") return { status: (await page.goto(given.target)).status() };
    await page.goto(address);
    return await page.evaluate(actions[action], given);
  } finally {
    await context.close();
  }
}

const browser = await chromium.launch({
  executablePath,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
  ],
});
for await (const line of createInterface({ input: process.stdin })) {
  const alarm = setTimeout(() => process.exit(1), ORDER_TIME);
  const answer = await carryOut(browser, JSON.parse(line)).catch((error) => ({ error: String(error) }));
  clearTimeout(alarm);
  console.log(JSON.stringify(answer));
}
await browser.close();
