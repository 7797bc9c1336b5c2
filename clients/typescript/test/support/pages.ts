import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const CHROMIUM = process.env.CHROMIUM_BIN ?? "/usr/bin/chromium";

/** Why there is no browser; null where there is one. Under CI a missing one is a failure. */
export function whyNoBrowser(): string | null {
  if (existsSync(CHROMIUM)) return null;
  if (process.env.CI) throw new Error(`there is no browser at ${CHROMIUM}`);
  return `there is no browser at ${CHROMIUM}`;
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** Pages of the package's folder, and others that a test makes. */
export class Pages {
  readonly made = new Map<string, string>();
  readonly answers = new Map<string, (request: IncomingMessage, response: ServerResponse, body: string) => void>();
  readonly bodies: string[] = [];
  #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async listen(port: number): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const answer = this.answers.get(path);
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      if (answer) {
        this.bodies.push(body);
        return answer(request, response, body);
      }
      const made = this.made.get(path);
      const file = join(ROOT, path);
      if (made === undefined && !(existsSync(file) && statSync(file).isFile())) return response.writeHead(404).end();
      response.writeHead(200, { "Content-Type": TYPES[extname(path)] ?? "text/plain" });
      response.end(made ?? readFileSync(file));
    });
  }
}

/** Bundles a page's script, with the React of one version. */
export async function bundled(entry: string, react: "react" | "react-18"): Promise<string> {
  const at = (name: string) => join(ROOT, "node_modules", name);
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, entry)],
    bundle: true,
    write: false,
    outdir: "out",
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
    alias: {
      streamweir: join(ROOT, "dist/index.js"),
      "streamweir/react": join(ROOT, "dist/react.js"),
      react: at(react),
      "react-dom": at(react === "react" ? "react-dom" : "react-dom-18"),
      scheduler: at(react === "react" ? "scheduler" : "react-dom-18/node_modules/scheduler"),
    },
    logLevel: "error",
  });
  return outputFiles.find(({ path }) => path.endsWith(".js"))?.text ?? "";
}

/** Opens a page; what it writes to its console as an error is collected. */
export async function opened(browser: Browser, url: string): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/favicon|status of 404/.test(message.text() + message.location().url))
      errors.push(message.text());
  });
  await page.goto(url);
  return { page, errors };
}
