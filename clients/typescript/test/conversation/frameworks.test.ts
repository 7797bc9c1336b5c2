import { readFileSync } from "node:fs";
import { createRoot, createSignal, onCleanup } from "solid-js";
import { readable } from "svelte/store";
import { expect, test } from "vitest";
import { effectScope, onScopeDispose, shallowRef } from "vue";
import { type AgentStreamState, createAgentStream } from "../../src/index.js";
import { RUN, RUN_HEADERS, START, sse, text } from "../support/events.js";
import { serve, until } from "../support/raw-server.js";

/** The lines of the README for a framework, as a function of what they use. */
function lines(framework: string, names: string, result: string): (...used: unknown[]) => unknown {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const block = readme.split("```").find((code) => code.startsWith(`ts\n// ${framework}`));
  return new Function("stream", ...names.split(" "), `${block?.slice(2)}; return ${result};`) as () => unknown;
}

interface Shown {
  state: () => AgentStreamState;
  leave: () => void;
}

const frameworks: Record<string, (stream: unknown) => Shown> = {
  Vue: (stream) => {
    const scope = effectScope();
    const make = lines("Vue", "shallowRef onScopeDispose", "state");
    const state = scope.run(() => make(stream, shallowRef, onScopeDispose)) as { value: AgentStreamState };
    return { state: () => state.value, leave: () => scope.stop() };
  },
  Svelte: (stream) => {
    type Store = { subscribe(listener: (state: AgentStreamState) => void): () => void };
    const store = lines("Svelte", "readable", "conversation")(stream, readable) as Store;
    let state: AgentStreamState | undefined;
    const leave = store.subscribe((next) => {
      state = next;
    });
    return { state: () => state as AgentStreamState, leave };
  },
  Solid: (stream) =>
    createRoot((leave) => {
      const make = lines("Solid", "createSignal onCleanup", "state");
      return { state: make(stream, createSignal, onCleanup) as () => AgentStreamState, leave };
    }),
};

for (const [name, mount] of Object.entries(frameworks)) {
  test(`${name} shows the conversation, and leaves its run`, async () => {
    const server = await serve((exchange) =>
      exchange.start(RUN_HEADERS).write(sse(START, `${RUN}.0`) + sse(text("A", 1), `${RUN}.1`)),
    );
    const stream = createAgentStream({ url: server.url, throttle: 0 });
    const { state, leave } = mount(stream);
    expect(state().status).toBe("idle");
    void stream.send("Hi");
    await until(() => state().messages.at(-1)?.mainContent === "A");
    leave();
    await server.exchanges[0]?.closed;
    expect(server.exchanges).toHaveLength(1);
  });
}
