// Pages of Chromium that stay open, driven by lines: one JSON order a line on stdin, one JSON answer a line on stdout.
//
//   node console_driver.mjs PLAYWRIGHT AXE CHROMIUM     PLAYWRIGHT: where playwright-core is installed
//
//   {"page": 1, "do": "open", "target": URL, "dark": false, "width": 1280}     a page with a context of its own
//   {"page": 1, "do": NAME, ...}                                               an action on it: see `actions`
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const WAIT = 60_000; // ms
const [folder, axeFile, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");
const axe = readFileSync(axeFile, "utf8");
const pages = new Map();

const found = ({ page }, { role, name, exact = false }) => page.getByRole(role, { name, exact });

const actions = {
  goto: ({ page }, { target }) => page.goto(target),
  reload: ({ page }) => page.reload(),
  evaluate: ({ page }, { script, argument }) => page.evaluate(`(${script})(${JSON.stringify(argument ?? null)})`),
  // Playwright's own waitForFunction evaluates a string in the page, which the page's policy forbids.
  wait: async (on, order) => {
    let error = "";
    for (const end = Date.now() + WAIT; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 30))) {
      try {
        const value = await actions.evaluate(on, order);
        if (value) return value;
      } catch (missing) {
        error = missing; // the page is not there yet, or the element in it
      }
    }
    throw new Error(`not true in time: ${order.script} of ${JSON.stringify(order.argument)} ${error}`);
  },
  press: ({ page }, { keys }) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve()),
  type: ({ page }, { text }) => page.keyboard.type(text),
  click: (on, order) => found(on, order).click({ timeout: WAIT }),
  focus: (on, order) => found(on, order).focus({ timeout: WAIT }),
  fill: (on, order) => found(on, order).fill(order.text, { timeout: WAIT }),
  fillLabel: ({ page }, { label, text }) => page.getByLabel(label).fill(text, { timeout: WAIT }),
  choose: ({ page }, { label, option }) => page.getByLabel(label, { exact: true }).selectOption(option, { timeout: WAIT }),
  appears: (on, order) => found(on, order).first().waitFor({ timeout: WAIT }),
  text: (on, order) => found(on, order).innerText({ timeout: WAIT }),
  names: ({ page }, { role }) => page.getByRole(role).evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.innerText.trim())),
  file: ({ page }, { path }) => page.getByLabel("Open capture").setInputFiles(path),
  download: async (on, order) => {
    const [download] = await Promise.all([on.page.waitForEvent("download", { timeout: WAIT }), found(on, order).click()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  },
  clipboard: ({ page }) => page.evaluate("navigator.clipboard.readText()"),
  problems: ({ problems }) => problems.splice(0),
  fetched: ({ fetched }) => fetched,
  axe: async ({ page }) => {
    await page.evaluate(axe);
    const { violations } = await page.evaluate("axe.run()");
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  },
  close: async ({ context }, { page }) => {
    pages.delete(page);
    await context.close();
  },
};

async function open(browser, { page: number, target, dark = false, width = 1280, height = 800 }) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    const isExpected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isExpected) problems.push(message.text());
  });
  const fetched = [];
  page.on("response", async (response) => {
    if (!response.url().includes("/api/")) return;
    const head = JSON.stringify([response.url(), await response.allHeaders().catch(() => ({}))]);
    fetched.push(head + (await response.text().catch(() => ""))); // the feed has no end: its body is not told
  });
  pages.set(number, { context, page, problems, fetched });
  await page.goto(target);
}

async function carryOut(browser, order) {
  if (order.do === "open") return open(browser, order);
  return actions[order.do](pages.get(order.page), order);
}

const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"] });
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const answer = await carryOut(browser, order).then(
    (value) => ({ value: order.do === "goto" || order.do === "reload" ? null : (value ?? null) }),
    (error) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(answer));
}
await browser.close();
