import type { ServerResponse } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answer, RUN, RUN_HEADERS, sse } from "../support/events.js";
import { openBrowser, opened, Pages, whyNoBrowser } from "../support/pages.js";
import { until } from "../support/raw-server.js";

const EVENTS = answer("A", "B", "C");
const frames = (from: number, to: number) =>
  EVENTS.slice(from, to)
    .map((event, index) => sse(event, `${RUN}.${from + index}`))
    .join("");

/** Reads a stream in the page: `window.text` grows, `window.ending` is set at its end, `window.tries` counts breaks. */
const READ = `(options = {}) => import("/dist/index.js").then(async ({ streamRequest }) => {
  Object.assign(window, { text: "", tries: 0, ending: null });
  const onReconnect = () => { window.tries += 1; };
  try {
    for await (const { type, data } of streamRequest("/stream", { onReconnect, ...options })) {
      if (type === "content") window.text += data.content;
      if (type === "session_end") window.ending = data.status;
    }
  } catch (error) {
    window.ending = error.kind;
  }
})`;

const why = whyNoBrowser();
if (why) console.warn(`The network of a page is not tested: ${why}`);

describe.skipIf(why)("a page", () => {
  let browser: Browser;
  let pages: Pages;
  let requests: { path: string; response: ServerResponse; isLeft: boolean }[] = [];
  const paths = () => requests.map(({ path }) => path);

  beforeAll(async () => {
    browser = await openBrowser();
    pages = await new Pages().listen(0);
    pages.made.set("/empty.html", "<!doctype html>");
    for (const path of ["/stream", `/-/runs/${RUN}`, `/-/runs/${RUN}/cancel`]) {
      pages.answers.set(path, (request, response) => {
        const seen = { path: `${request.method} ${path}`, response, isLeft: false };
        response.on("close", () => {
          seen.isLeft = true;
        });
        requests.push(seen);
        if (path.endsWith("cancel")) return void response.writeHead(200).end("{}");
        response.writeHead(200, { "Content-Type": "text/event-stream", ...RUN_HEADERS });
        const last = Number(/\.(\d+)$/.exec(String(request.headers["last-event-id"]))?.[1] ?? -1);
        response.write(path === "/stream" ? frames(0, 2) : frames(last + 1, EVENTS.length));
        if (path !== "/stream") response.end();
      });
    }
  }, 60_000);

  beforeEach(() => {
    requests = [];
  });

  afterAll(async () => {
    await browser?.close();
    await pages?.close();
  });

  const reading = async (options = "{}"): Promise<Page> => {
    const { page } = await opened(browser, `${pages.origin}/empty.html`);
    await page.evaluate(`void (${READ})(${options})`);
    await page.waitForFunction('window.text === "A"');
    return page;
  };
  const breakStream = () => requests[0]?.response.destroy();
  const isWhole = (page: Page) => page.waitForFunction('window.ending === "completed"', undefined, { timeout: 20_000 });

  test("offline waits for the network, and then tries at once", async () => {
    const page = await reading("{ resume: { delay: 60_000, maxDelay: 60_000 } }");
    await page.context().setOffline(true);
    breakStream();
    await page.waitForFunction("window.tries === 1");
    expect(paths()).toEqual(["POST /stream"]);
    await page.context().setOffline(false);
    await isWhole(page);
    expect(await page.evaluate("[window.text, window.tries]")).toEqual(["ABC", 1]);
    expect(paths()).toEqual(["POST /stream", `GET /-/runs/${RUN}`]);
    await page.close();
  });

  test("offline makes no tries, however many delays pass", async () => {
    const page = await reading("{ resume: { attempts: 2, delay: 5, maxDelay: 10 } }");
    await page.context().setOffline(true);
    breakStream();
    await page.waitForFunction("window.tries === 1");
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 150))");
    expect(await page.evaluate("[window.tries, window.ending]")).toEqual([1, null]);
    await page.context().setOffline(false);
    await isWhole(page);
    await page.close();
  });

  /** Chromium without a window has no hidden pages: the page is told that it is one. */
  const setVisibility = (page: Page, state: string) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "visibilityState", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);

  test("that becomes visible tries at once; a hidden one waits, and is not disconnected", async () => {
    const page = await reading("{ resume: { delay: 60_000, maxDelay: 60_000 } }");
    await setVisibility(page, "hidden");
    expect(requests[0]?.isLeft).toBe(false);
    breakStream();
    await page.waitForFunction("window.tries === 1");
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))");
    expect(paths()).toEqual(["POST /stream"]);
    await setVisibility(page, "visible");
    await isWhole(page);
    await page.close();
  });

  test("that is hidden resumes when its delay is over", async () => {
    const page = await reading("{ resume: { delay: 10, maxDelay: 20 } }");
    await setVisibility(page, "hidden");
    breakStream();
    await isWhole(page);
    await page.close();
  });

  /** Reads a run with a fetch of `streamweir/fetch`, and aborts it with `window.controller`. */
  const FETCH = `import("/dist/fetch.js").then(async ({ createRunFetch }) => {
    window.runs = createRunFetch({ storage: sessionStorage });
    window.controller = new AbortController();
    const init = { method: "POST", body: JSON.stringify({ id: "chat" }), signal: window.controller.signal };
    const reader = (await window.runs("/stream", init)).body.getReader();
    await reader.read();
    addEventListener("pagehide", () => window.controller.abort());
    reader.read().catch(() => {});
  })`;

  test("that unloads stops nothing, and reads its run again when it is loaded again", async () => {
    const { page } = await opened(browser, `${pages.origin}/empty.html`);
    await page.evaluate(FETCH);
    await page.reload();
    await until(() => requests[0]?.isLeft === true);
    const text = await page.evaluate(`import("/dist/fetch.js").then(async ({ createRunFetch }) => {
      const runs = createRunFetch({ storage: sessionStorage });
      return (await runs.reader("chat")("/stream", { method: "POST" })).text();
    })`);
    expect(text).toBe(frames(0, EVENTS.length));
    expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual([]);
    expect(paths()).toEqual(["POST /stream", `GET /-/runs/${RUN}`]);
    await page.close();
  });

  test("whose reader aborts stops the run, also where it leaves right afterwards", async () => {
    const { page } = await opened(browser, `${pages.origin}/empty.html`);
    await page.evaluate(FETCH);
    await page.evaluate("setTimeout(() => { window.controller.abort(); location.href = 'about:blank'; }, 0)");
    await page.waitForURL("about:blank");
    await until(() => paths().includes(`POST /-/runs/${RUN}/cancel`));
    await page.close();
  });
});
