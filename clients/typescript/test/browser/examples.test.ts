import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { bundled, openBrowser, opened, Pages, whyNoBrowser } from "../support/pages.js";

const why = whyNoBrowser() ?? (inject("gateway") ? null : "there is no gateway");
if (why) console.warn(`The examples are not tested: ${why}`);

describe.skipIf(why)("the examples before the gateway", () => {
  let browser: Browser;
  let pages: Pages;
  const gateway = inject("gateway");

  beforeAll(async () => {
    browser = await openBrowser();
    pages = await new Pages().listen(inject("pages"));
    const html = '<!doctype html><div id="root"></div><script type="module" src="main.js"></script>';
    pages.made.set("/react/index.html", html);
    pages.made.set("/react/main.js", await bundled("examples/react/src/main.tsx", "react"));
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    await pages?.close();
  });

  const ask = async (page: Page, text: string) => {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
  };

  for (const path of ["/examples/page/index.html", "/react/index.html"]) {
    describe(path, () => {
      test("shows the answer, its tools and its table", async () => {
        const { page, errors } = await opened(browser, `${pages.origin}${path}?url=${gateway}/legacy`);
        await ask(page, "Which drink sells best?");
        const log = page.getByRole("log");
        await page.getByRole("button", { name: "Stop" }).waitFor();
        await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
        const shown = await log.innerText();
        expect(shown).toContain("Which drink sells best?");
        expect(await log.locator(".card").count()).toBeGreaterThan(0);
        expect(await log.locator("table").count()).toBe(1);
        const words = await log.locator(".text").allInnerTexts();
        expect(words.join(" ")).not.toMatch(/\b(\w{4,} \w+ \w+)\b.*\1/);
        expect(errors).toEqual([]);
        await page.close();
      });

      test("shows a failure with a button, which asks again", async () => {
        const { page } = await opened(browser, `${pages.origin}${path}?url=${gateway}/legacy`);
        await ask(page, "cut");
        const alert = page.getByRole("alert");
        await alert.waitFor();
        expect(await alert.innerText()).toContain("broke off");
        await alert.getByRole("button").click();
        await alert.waitFor({ state: "detached" });
        await alert.waitFor();
        expect(await page.getByRole("log").innerText()).toMatch(/^cut/);
        await page.close();
      });

      test("stops", async () => {
        const { page, errors } = await opened(browser, `${pages.origin}${path}?url=${gateway}/legacy`);
        await ask(page, "stall");
        await page.getByRole("button", { name: "Stop" }).click();
        await page.getByRole("textbox", { name: "Message" }).waitFor();
        expect(await page.getByRole("alert").count()).toBe(0);
        expect(errors).toEqual([]);
        await page.close();
      });

      test("answers a form", async () => {
        pages.answers.set("/asks", (_request, response, body) => {
          response.writeHead(200, { "Content-Type": "text/event-stream" });
          const write = (type: string, data: object, sequence: number) =>
            response.write(
              `data: ${JSON.stringify({ type, data, metadata: { request_id: "r", timestamp: 1, sequence } })}\n\n`,
            );
          write("session_start", { session_id: "s", request_id: "r", protocol: "1.1" }, 0);
          if (JSON.parse(body).resume) {
            write("content", { content: `Thanks, ${JSON.parse(body).resume[0].value.name}.` }, 1);
            write("session_end", { status: "completed", reason: "done" }, 2);
          } else {
            const schema = {
              type: "object",
              required: ["name"],
              properties: { name: { type: "string", title: "Name" } },
            };
            write("interaction", { interaction_id: "i", kind: "form", state: "requested", title: "Who?", schema }, 1);
            write("session_end", { status: "suspended", reason: "interaction" }, 2);
          }
          response.end();
        });
        const { page, errors } = await opened(browser, `${pages.origin}${path}?url=${pages.origin}/asks`);
        await ask(page, "Hi");
        await page.getByLabel("Name").waitFor();
        await page.locator("form.card button").click();
        expect(await page.locator("form.card").innerText()).toContain("look at");
        await page.getByLabel("Name").fill("Ada");
        await page.locator("form.card button").click();
        await page.getByText("Thanks, Ada.").waitFor();
        expect(await page.locator("form.card").count()).toBe(0);
        expect(errors).toEqual([]);
        await page.close();
      });
    });
  }
});
