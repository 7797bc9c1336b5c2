// Runs one check of a page in Chromium, and exits with 1 if it fails.
//
//   node FILE.mjs FOLDER CHROMIUM ADDRESS CHECK      FOLDER: where playwright-core and axe-core are installed
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, executablePath, address, name] = process.argv.slice(2);
const need = createRequire(`${folder}/`);
const { chromium } = need("playwright-core");
const PATIENCE = 20_000;

/** The widths and colour schemes in which every page is looked at. */
export const LOOKS = [
  { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  { viewport: { width: 360, height: 740 }, colorScheme: "light" },
  { viewport: { width: 360, height: 740 }, colorScheme: "dark" },
];

/** Asserts that axe-core finds nothing serious or worse, and that the page does not scroll sideways. */
export async function assertAccessible(page) {
  await page.evaluate(readFileSync(need.resolve("axe-core"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(found.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= seen, `the page is ${wide} px wide in a window of ${seen}`);
}

/** Runs the check that the command line names. Errors of the page and of its policy fail it. */
export async function run(checks) {
  const browser = await chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  });
  const open = async (options = {}, path = "") => {
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.problems = [];
    page.on("pageerror", (error) => page.problems.push(String(error)));
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) page.problems.push(message.text());
    });
    await page.goto(address + path);
    return page;
  };
  try {
    await checks[name]({ open, address });
    const pages = browser.contexts().flatMap((context) => context.pages());
    assert.deepEqual(pages.flatMap((page) => page.problems), []);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}
