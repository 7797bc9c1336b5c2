import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { beforeAll, describe, expect, test } from "vitest";
import { LIMITS, sizeOf } from "../../scripts/sizes.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
let folder: string;
let tarball: Buffer;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "streamweir-package-"));
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: ROOT });
  const [name] = readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  tarball = readFileSync(join(folder, name as string));
  mkdirSync(join(folder, "node_modules"));
  execFileSync("tar", ["-xzf", join(folder, name as string), "-C", join(folder, "node_modules")]);
  execFileSync("mv", [join(folder, "node_modules/package"), join(folder, "node_modules/streamweir")]);
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  for (const linked of ["undici-types", "csstype"])
    symlinkSync(join(ROOT, "node_modules", linked), join(folder, "node_modules", linked));
}, 60_000);

test("publint finds nothing", async () => {
  const { messages } = await publint({ pkgDir: join(folder, "node_modules/streamweir"), strict: true });
  expect(messages).toEqual([]);
});

test("arethetypeswrong finds nothing but that it is ESM only", async () => {
  const found = await checkPackage(createPackageFromTarballData(tarball));
  const problems = found.types ? found.problems : ["no types"];
  const others = problems.filter((problem) => {
    if (typeof problem === "string") return true;
    const isOld = "resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind);
    return !(isOld && ["CJSResolvesToESM", "NoResolution"].includes(problem.kind));
  });
  expect(others).toEqual([]);
});

test("the package holds what it needs, and no dependency", () => {
  const files = readdirSync(join(folder, "node_modules/streamweir")).sort();
  expect(files).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const { dependencies, sideEffects } = JSON.parse(
    readFileSync(join(folder, "node_modules/streamweir/package.json"), "utf8"),
  );
  expect([dependencies, sideEffects]).toEqual([undefined, false]);
});

describe("sizes", () => {
  for (const [name, [, most]] of Object.entries(LIMITS) as [string, [string, number]][]) {
    test(name, async () => expect(await sizeOf(name)).toBeLessThanOrEqual(most));
  }
});

const USE = `
import { createAgentStream, EventReader, formModel, MessageStreamHandler, parseStream, parseStreamLine, streamRequest, StreamRequestError } from "streamweir";
import type { AgentStream, AgentStreamOptions, AgentStreamState, DataBlock, DataOf, ErrorCode, EventMetadata, EventOf, EventType, FailureKind, FormField, FormModel, Message, MessagePart, MessageState, Normalizer, ParseOptions, Reason, ResumeOptions, StreamEvent, StreamRequest, StreamRequestOptions, StreamStatus, Timeouts, ToolCall, Turn, UserMessage } from "streamweir";
import { createNormalizer, normalizeStreamEvent, toEnvelope, toExecutionStep } from "streamweir/legacy";
import type { AdapterResult, ChatStreamEvent, ContentEventData, ErrorEventData, EventAdapterContext, ExecutionStep, StreamEventEnvelope, ToolEndEventData, ToolStartEventData } from "streamweir/legacy";
import { createChatTransport, createRunFetch, type ChatTransport, type RunFetch } from "streamweir/fetch";

const never = (value: never): never => value;

export function show(event: StreamEvent): string {
  switch (event.type) {
    case "session_start": return event.data.session_id;
    case "thinking": case "content": return event.data.content;
    case "tool_call_start": return event.data.tool_name;
    case "tool_call_delta": return event.data.arguments_delta;
    case "tool_call_progress": return String(event.data.progress);
    case "tool_call_end": return event.data.error?.message ?? event.data.status;
    case "data":
      if (event.data.data_type === "dataframe") return event.data.data.columns.join();
      if (event.data.data_type === "state_delta") return event.data.data.map(({ op }) => op).join();
      if (event.data.data_type === "custom") return event.data.data.name;
      return event.data.data_type;
    case "reference": return event.data.citations[0]?.title ?? "";
    case "status": return event.data.state;
    case "warning": return event.data.message;
    case "interaction": return event.data.kind;
    case "error": return event.data.code;
    case "session_end": return event.data.reason;
    case "unknown": return event.data.type;
    default: return never(event);
  }
}

const code: ErrorCode = "RATE_LIMITED";
const part = (given: MessagePart): string => (given.type === "text" ? given.text : given.type === "tool" ? given.call.tool_name : given.id);
export const used = [code, part, createAgentStream({ url: "/", headers: () => ({ a: "b" }), body: ({ text }) => ({ text }) }), createRunFetch({ protocol: "ag-ui" }) as typeof fetch, createChatTransport({ url: "/" }), new EventReader(), formModel, new MessageStreamHandler(), parseStream, parseStreamLine, createNormalizer(), normalizeStreamEvent, toEnvelope, toExecutionStep];
export async function all(): Promise<string> {
  const stream: StreamRequest = streamRequest("/", { method: "GET", timeouts: { total: null }, signal: new AbortController().signal });
  try {
    for await (const event of stream) if (event.type === "content") return event.data.content;
  } catch (error) {
    if (error instanceof StreamRequestError) return error.kind;
  }
  return stream.requestId ?? "";
}
`;

const MISTAKES = [
  'import { streamRequest } from "streamweir"; streamRequest("/", { framing: "xml" });',
  'import type { DataOf } from "streamweir"; const data: DataOf<"content"> = { content: 1 }; export { data };',
  'import type { EventOf } from "streamweir"; export type X = EventOf<"nonsense">["data"];',
  'import { createAgentStream } from "streamweir"; createAgentStream({});',
  'import { streamRequest } from "streamweir"; streamRequest("/", { timeouts: { idle: "5s" } });',
  'import { streamRequest } from "streamweir"; for await (const e of streamRequest("/")) if (e.type === "content") e.data.tool_id;',
  'import { formModel } from "streamweir"; formModel({ kind: "form" });',
  'import { createRunFetch } from "streamweir/fetch"; createRunFetch({ storage: {} });',
  'import { createNormalizer } from "streamweir/legacy"; createNormalizer({ endsAtEof: 1 });',
  'import { useAgentStream } from "streamweir/react"; useAgentStream({ url: 1 });',
  'import { StreamRequestError } from "streamweir"; declare const e: StreamRequestError; export const k: "other" = e.kind;',
  'import type { MessageState } from "streamweir"; export const f = (state: MessageState): string => state.parts[0]!.text;',
];

describe("types", () => {
  const compile = (compiler: string, sources: string[], libs: string[], types: string[]): string => {
    const place = mkdtempSync(join(folder, "use-"));
    const files = sources.map((_, index) => `use${index}.ts`);
    writeFileSync(join(place, "package.json"), '{"type":"module"}');
    for (const [index, file] of files.entries()) writeFileSync(join(place, file), sources[index] as string);
    const compilerOptions = {
      ...{ target: "ES2022", module: "NodeNext", lib: ["ES2022", ...libs], types, strict: true, noEmit: true },
      ...{ exactOptionalPropertyTypes: true, skipLibCheck: false },
    };
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    try {
      execFileSync(process.execPath, [join(ROOT, "node_modules", compiler, "bin/tsc"), "-p", place], {
        encoding: "utf8",
      });
      return "";
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  };

  // The newest compiler is quick; the oldest one that is promised takes ten seconds.
  test("the newest TypeScript, with the DOM's types and with Node's", () => {
    expect(compile("typescript-7", [USE], ["DOM", "DOM.Iterable"], [])).toBe("");
    expect(compile("typescript-7", [USE], [], ["node"])).toBe("");
  });

  test("TypeScript 5.4", () => {
    expect(compile("typescript-5.4", [USE], ["DOM", "DOM.Iterable"], [])).toBe("");
  }, 60_000);

  test("mistakes do not compile", () => {
    const found = compile("typescript-7", MISTAKES, ["DOM"], []);
    for (const [index, mistake] of MISTAKES.entries()) {
      expect([mistake, found.includes(`use${index}.ts`)]).toEqual([mistake, true]);
    }
  });
});
