// Prints the size of what a page loads of the package, minified and gzipped. Tests compare `sizeOf()` with the limits.

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const KIB = 1024;

/** By name: the import of a page, and its most bytes. */
export const LIMITS = {
  streamRequest: ['export { streamRequest } from "./dist/index.js"', 7 * KIB],
  core: ['export * from "./dist/index.js"', 15 * KIB],
  legacy: ['export * from "./dist/legacy.js"', 6 * KIB],
  fetch: ['export * from "./dist/fetch.js"', 4 * KIB],
  react: ['export * from "./dist/react.js"', 13 * KIB],
};

export async function sizeOf(name) {
  const { outputFiles } = await build({
    stdin: { contents: LIMITS[name][0], resolveDir: ROOT },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    external: ["react"],
    logLevel: "error",
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, [, most]] of Object.entries(LIMITS)) console.log(name.padEnd(14), await sizeOf(name), "of", most);
}
