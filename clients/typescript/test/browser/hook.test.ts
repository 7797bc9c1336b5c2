import type { Browser, Page } from "playwright-core";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useAgentStream } from "../../src/react.js";
import { bundled, openBrowser, opened, Pages, whyNoBrowser } from "../support/pages.js";

function Chat() {
  const { status, messages } = useAgentStream({ url: "http://127.0.0.1:1/" });
  return createElement("p", null, `${status} ${messages.length}`);
}

test("a server renders the hook, and sends nothing", () => {
  expect(renderToString(createElement(Chat))).toBe("<p>idle 0</p>");
});

const why = whyNoBrowser();
if (why) console.warn(`The hook is not tested: ${why}`);

describe.skipIf(why)("the hook in strict mode", () => {
  let browser: Browser;
  let pages: Pages;
  const requests: { token: string | undefined; left: Promise<void>; isLeft: boolean }[] = [];
  let holdsFirst = false; // the first answer stops after 100 words, and stays open

  beforeAll(async () => {
    browser = await openBrowser();
    pages = await new Pages().listen(0);
    const html = '<!doctype html><div id="root"></div><script type="module" src="main.js"></script>';
    for (const react of ["react", "react-18"] as const) {
      pages.made.set(`/${react}/index.html`, html);
      pages.made.set(`/${react}/main.js`, await bundled("test/browser/pages/strict.tsx", react));
    }
    pages.answers.set("/stream", (request, response) => {
      const seen = { token: request.headers["x-token"] as string | undefined, isLeft: false, left: Promise.resolve() };
      requests.push(seen);
      const write = (type: string, data: object, sequence: number) =>
        response.write(
          `data: ${JSON.stringify({ type, data, metadata: { request_id: "r", timestamp: 1, sequence } })}\n\n`,
        );
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      write("session_start", { session_id: "s", request_id: "r", protocol: "1.1" }, 0);
      let sequence = 0;
      const timer = setInterval(() => {
        if (holdsFirst && seen === requests[0] && sequence === 100) return;
        sequence += 1;
        if (sequence <= 200) return write("content", { content: `${sequence} ` }, sequence);
        clearInterval(timer);
        write("session_end", { status: "completed", reason: "done" }, sequence);
        response.end();
      }, 2);
      seen.left = new Promise((resolve) =>
        response.on("close", () => {
          clearInterval(timer);
          seen.isLeft = !response.writableEnded;
          resolve();
        }),
      );
    });
  }, 60_000);

  beforeEach(() => {
    requests.splice(0);
    holdsFirst = false;
  });

  afterAll(async () => {
    await browser?.close();
    await pages?.close();
  });

  const whole = (asked: string) => `${asked}|${Array.from({ length: 200 }, (_, index) => `${index + 1} `).join("")}`;
  const textOf = (page: Page, id = "text") => page.locator(`#${id}`).textContent();
  const isDone = (page: Page) => page.waitForFunction(() => document.querySelector("#status")?.textContent === "idle");

  for (const react of ["react", "react-18"]) {
    describe(react, () => {
      test("one request, each word once, few renders, the same functions", async () => {
        const { page, errors } = await opened(browser, `${pages.origin}/${react}/index.html`);
        await page.waitForFunction(() => document.querySelector("#text")?.textContent?.includes("200"));
        await isDone(page);
        expect(await textOf(page)).toBe(whole("Hi"));
        expect(requests).toHaveLength(1);
        const seen = await page.evaluate(() => ({
          renders: window.seen.renders,
          functions: window.seen.functions.size,
        }));
        expect(seen.renders).toBeLessThan(200);
        expect(seen.functions).toBeLessThanOrEqual(2);
        expect(errors).toEqual([]);
        await page.close();
      });

      test("options of the newest render, without a new store", async () => {
        const { page } = await opened(browser, `${pages.origin}/${react}/index.html`);
        await page.waitForFunction(() => document.querySelector("#text")?.textContent?.includes("200"));
        await isDone(page);
        await page.evaluate(() => window.setToken("two"));
        await page.locator("#again").evaluate((button) => (button as HTMLButtonElement).click());
        await page.waitForFunction(() => document.querySelector("#status")?.textContent !== "idle");
        await isDone(page);
        expect(requests.map(({ token }) => token)).toEqual(["one", "two"]);
        expect((await textOf(page))?.startsWith(`${whole("Hi")}|Again|`)).toBe(true);
        await page.close();
      });

      test("who goes away leaves the run; a store that was passed in is left alone", async () => {
        holdsFirst = true;
        const { page, errors } = await opened(browser, `${pages.origin}/${react}/index.html`);
        await page.waitForFunction(() => (document.querySelector("#text")?.textContent?.length ?? 0) > 10);
        await page.evaluate(() => void window.shared.send("Both"));
        await page.waitForFunction(() => document.querySelector("#second")?.textContent?.includes("10 "));
        await page.evaluate(() => window.setShown(false));
        await requests[0]?.left;
        expect(requests[0]?.isLeft).toBe(true);
        await page.waitForFunction(() => document.querySelector("#first")?.textContent?.includes("200"));
        expect(await textOf(page, "first")).toBe(whole("Both"));
        expect(errors).toEqual([]);
        await page.close();
      });
    });
  }

  test("a worker reads a stream, unbundled", async () => {
    pages.made.set("/empty.html", "<!doctype html>");
    pages.made.set(
      "/worker.js",
      `import { streamRequest } from "/dist/index.js";
       let text = "";
       for await (const event of streamRequest("/stream")) if (event.type === "content") text += event.data.content;
       postMessage(text);`,
    );
    const { page, errors } = await opened(browser, `${pages.origin}/empty.html`);
    const text = await page.evaluate(
      () =>
        new Promise((resolve) => {
          new Worker("/worker.js", { type: "module" }).onmessage = ({ data }) => resolve(data);
        }),
    );
    expect(`Hi|${text}`).toBe(whole("Hi"));
    expect(errors).toEqual([]);
    await page.close();
  });

  test("a page without what browsers of two years ago lacked", async () => {
    const { page } = await opened(browser, `${pages.origin}/empty.html`);
    // as text, since vitest rewrites imports
    const text = await page.evaluate(`(async () => {
      const missing = [
        [ReadableStream.prototype, Symbol.asyncIterator],
        [ReadableStream.prototype, "values"],
        [ReadableStream, "from"],
        [AbortSignal, "any"],
        [AbortSignal, "timeout"],
        [Crypto.prototype, "randomUUID"],
        [Array.prototype, "findLast"],
        [Promise, "withResolvers"],
      ];
      for (const [object, name] of missing) Reflect.deleteProperty(object, name);
      const { createAgentStream } = await import("/dist/index.js");
      const stream = createAgentStream({ url: "/stream" });
      return (await stream.send("Hi")).mainContent;
    })()`);
    expect(`Hi|${text}`).toBe(whole("Hi"));
    await page.close();
  });
});
