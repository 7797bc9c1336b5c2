import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const BIN = process.env.STREAMWEIR_BIN ?? `${ROOT}.venv/bin/streamweir`;

/** Demos of the old dialects, resumable, for pages of any origin that the tests serve. */
const configuration = (pages: number) => `
cors: {origins: ["http://127.0.0.1:${pages}"]}
store: memory
defaults:
  answers: [standard, ag-ui, vercel-ui, openai-chat, legacy]
  heartbeat: 1s
endpoints:
${["standard", "legacy", "stream-envelope", "data-formulator", "easyflow"]
  .map(
    (name) =>
      `  /${name}: {upstream: "demo:${name}", speaks: ${name}}\n  /kept/${name}: {upstream: "demo:${name}", speaks: ${name}, request: mapped, resume: on}`,
  )
  .join("\n")}
`;

declare module "vitest" {
  interface ProvidedContext {
    /** Where the gateway of the tests listens; empty where there is none. */
    gateway: string;
    /** The port that pages of the tests may be served at. */
    pages: number;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(url: string): Promise<void> {
  for (let count = 0; count < 300; count++) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // not yet
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the gateway does not answer at ${url}`);
}

/** Starts the gateway once for all tests, and its broken backend beside it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(BIN)) {
    if (process.env.CI) throw new Error(`no gateway at ${BIN}`);
    console.warn(`Without the gateway: there is none at ${BIN}`);
    project.provide("gateway", "");
    project.provide("pages", 0);
    return async () => {};
  }
  const [port, pages] = [await freePort(), await freePort()];
  const config = join(mkdtempSync(join(tmpdir(), "streamweir-")), "config.yaml");
  writeFileSync(config, configuration(pages));
  const origin = `http://127.0.0.1:${port}`;
  const gateway: ChildProcess = spawn(BIN, ["serve", config, "--listen", `127.0.0.1:${port}`], {
    stdio: ["ignore", "ignore", "ignore"],
    cwd: ROOT,
  });
  await answers(`${origin}/healthz`);
  project.provide("gateway", origin);
  project.provide("pages", pages);
  return async () => {
    gateway.kill("SIGTERM");
    await new Promise((resolve) => gateway.once("exit", resolve));
  };
}
