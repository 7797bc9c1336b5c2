// Takes the pictures of docs/console.md: each view of the console in light and dark.
//
//   node pictures.mjs PLAYWRIGHT CHROMIUM CONSOLE FOLDER     CONSOLE: the address that the gateway prints, with the token
import { createRequire } from "node:module";

const [playwright, executablePath, address, folder] = process.argv.slice(2);
const { chromium } = createRequire(`${playwright}/`)("playwright-core");
const WAIT = { timeout: 30_000 };
const SIZE = { width: 1280, height: 720 };
const { origin, hash } = new URL(address);

async function streamView(page) {
  await page.goto(`${origin}/?reason=any+failure${hash}`);
  await page.getByRole("searchbox", { name: "Filter" }).fill("/easyflow");
  await page.locator("[data-id]").first().focus(WAIT);
  await page.keyboard.press("Enter");
  await page.getByRole("listbox", { name: "Events" }).waitFor(WAIT);
}

async function playgroundView(page) {
  await page.goto(`${origin}/playground${hash}`);
  await page.getByLabel("Endpoint", { exact: true }).selectOption("/standard", WAIT);
  await page.getByRole("radio", { name: "ask" }).check(WAIT);
  await page.getByRole("button", { name: "Send" }).click(WAIT);
  await page.getByLabel("City").fill("Hangzhou", WAIT);
  await page.getByRole("button", { name: "Submit" }).scrollIntoViewIfNeeded(WAIT);
}

const views = {
  live: async (page) => {
    await page.goto(`${origin}/${hash}`);
    await page.locator("[data-id]").first().waitFor(WAIT);
  },
  stream: streamView,
  playground: playgroundView,
  config: async (page) => {
    await page.goto(`${origin}/config${hash}`);
    await page.getByRole("table", { name: "Values" }).waitFor(WAIT);
  },
  dialects: async (page) => {
    await page.goto(`${origin}/dialects${hash}`);
    await page.getByRole("table", { name: "What survives" }).waitFor(WAIT);
  },
};

const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath, args });
try {
  for (const colorScheme of ["light", "dark"]) {
    for (const [name, show] of Object.entries(views)) {
      const context = await browser.newContext({ viewport: SIZE, colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      await show(page);
      await page.waitForTimeout(1500); // plots are drawn once a second
      await page.screenshot({ path: `${folder}/console-${name}-${colorScheme}.png` });
      await context.close();
    }
  }
} finally {
  await browser.close();
}
