// Builds dist/ with tsc, and puts the licence beside it, which a package has to bring along.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", root], { stdio: "inherit" });
copyFileSync(`${root}../../LICENSE`, `${root}LICENSE`);
