// Checks of the gateway's front page: see checked_page.mjs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { assertAccessible, LOOKS, run } from "./checked_page.mjs";

const execute = promisify(execFile);
const frames = (page, column) =>
  page.locator(`#frames tr > td:nth-child(${column})`).evaluateAll((cells) => cells.map((cell) => cell.textContent));
const over = (page) => page.waitForFunction(() => /over after|broke off/.test(document.querySelector("#outcome").textContent));
const copied = (page) => page.evaluate(() => navigator.clipboard.readText());

await run({
  async "trial shows the frames of both sides"({ open }) {
    const page = await open();
    await page.getByLabel("Endpoint", { exact: true }).selectOption("/legacy");
    await page.getByLabel("Protocol").selectOption("ag-ui");
    await page.getByRole("button", { name: "Send" }).click();
    await page.waitForFunction(() => document.querySelectorAll("#frames tr").length > 3);
    assert.match(await page.locator("#outcome").textContent(), /Running/, "frames come while the run goes on");
    await over(page);
    const [upstream, client] = [(await frames(page, 2)).join("\n"), (await frames(page, 3)).join("\n")];
    assert.match(upstream, /"type":"thinking"/);
    assert.match(upstream, /"type":"done"/);
    assert.match(client, /"type":"RUN_STARTED"/);
    assert.match(client, /"type":"RUN_FINISHED"/);
    assert.match(await page.locator("#outcome").textContent(), /Status 200/);
  },

  async "trial of each scenario ends as it says"({ open }) {
    const page = await open();
    await page.getByLabel("Endpoint", { exact: true }).selectOption("/legacy");
    for (const [name, end] of [["fail", /"type":"error"/], ["cut", /UPSTREAM_/]]) {
      await page.getByRole("radio", { name }).check();
      await page.getByRole("button", { name: "Send" }).click();
      await over(page);
      assert.match((await frames(page, 3)).join("\n"), end);
    }
    await page.getByRole("radio", { name: "stall" }).check();
    await page.getByRole("button", { name: "Send" }).click();
    await page.waitForFunction(() => document.querySelectorAll("#frames tr").length > 3);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("the client has left").waitFor();
  },

  async "frames of other upstreams are not shown"({ open }) {
    const page = await open();
    await page.getByLabel("Endpoint", { exact: true }).selectOption("/real");
    assert.equal(await page.getByRole("radio", { name: "fail" }).isVisible(), false);
    await page.getByRole("button", { name: "Send" }).click();
    await over(page);
    const shown = await page.locator("body").textContent();
    assert.match(shown, /not a demo/);
    assert.doesNotMatch((await frames(page, 2)).join("\n"), /planted/);
    assert.match((await frames(page, 3)).join("\n"), /session_start/);
  },

  async "copies run as they are pasted"({ open }) {
    const page = await open();
    await page.getByRole("button", { name: "Copy curl for /legacy" }).click();
    await page.getByText("Copied: curl for /legacy").waitFor();
    const { stdout } = await execute("sh", ["-c", await copied(page)]);
    assert.match(stdout, /session_end/);
    await page.getByRole("button", { name: "Copy JavaScript for /legacy" }).click();
    await page.getByText("Copied: JavaScript for /legacy").waitFor();
    const script = await copied(page);
    assert.ok(script.split("\n").length <= 12, script);
    assert.match((await execute("node", ["--input-type=module", "-e", script])).stdout, /session_end/);
  },

  async "hostile paths are text and can be called"({ open }) {
    const page = await open();
    const path = `/<img src=x onerror=alert(1)>'"&`;
    await page.getByRole("button", { name: path, exact: true }).click();
    assert.equal(await page.getByLabel("Endpoint", { exact: true }).inputValue(), path);
    assert.equal(await page.locator("img").count(), 0);
    await page.getByRole("button", { name: "Send" }).click();
    await over(page);
    assert.match((await frames(page, 3)).join("\n"), /session_end/);
    await page.getByRole("button", { name: `Copy curl for ${path}` }).click();
    await page.getByText("Copied: curl for").waitFor();
    assert.match((await execute("sh", ["-c", await copied(page)])).stdout, /session_end/);
  },

  async "hundred endpoints are found by the filter"({ open }) {
    const page = await open();
    assert.ok((await page.locator(".endpoints tbody tr").count()) > 100);
    await page.getByRole("searchbox", { name: "Filter" }).fill("many/77");
    assert.equal(await page.locator(".endpoints tbody tr:visible").count(), 1);
    await page.getByRole("searchbox", { name: "Filter" }).fill("no such text");
    assert.ok(await page.getByText("No endpoint has this text").isVisible());
  },

  async "keyboard alone makes a trial"({ open }) {
    const page = await open();
    await page.locator("h1").click();
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.matches(".path"))) break;
    }
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
    await page.keyboard.press("Enter");
    await over(page);
    assert.ok((await frames(page, 3)).length > 3);
  },

  async "looks are accessible and one screen"({ open }) {
    for (const look of LOOKS) {
      const page = await open(look);
      await page.getByRole("button", { name: "Send" }).click();
      await over(page);
      await assertAccessible(page);
      const [tall, seen] = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight]);
      if (look.viewport.width > 1200) assert.ok(tall <= seen, `the page is ${tall} px tall in a window of ${seen}`);
    }
  },

  async "links lead to the pages of the documentation"({ open, address }) {
    const page = await open();
    for (const link of await page.getByRole("navigation").getByRole("link").all()) {
      const answer = await fetch(new URL(await link.getAttribute("href"), address));
      assert.equal(answer.status, 200);
      assert.match(await answer.text(), /^# /);
    }
  },
});
