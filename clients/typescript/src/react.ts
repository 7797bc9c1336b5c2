"use client";

import { useEffect, useInsertionEffect, useState, useSyncExternalStore } from "react";
import { createAgentStream } from "./conversation/agent-stream.js";
import type {
  AgentStream,
  AgentStreamOptions,
  AgentStreamState,
  DefaultInput,
} from "./conversation/conversation-types.js";

/** The result of the hook: the current conversation, and its functions, which stay the same ones. */
export type UseAgentStream<Input = DefaultInput> = AgentStreamState<Input> &
  Pick<AgentStream<Input>, "send" | "respond" | "retry" | "resume" | "stop" | "reset">;

/**
 * A conversation as the state of a component.
 *
 * With options the component makes a store once; the options of the newest render count. When the component has gone,
 * the run of that store is left, not stopped. A store that is passed in is neither held nor left.
 */
export function useAgentStream<Input = DefaultInput>(
  given: AgentStreamOptions<Input> | AgentStream<Input>,
): UseAgentStream<Input> {
  const isStore = "getSnapshot" in given;
  const [own] = useState(() => createAgentStream<Input>(isStore ? { url: "" } : given));
  const store = isStore ? given : own;
  useInsertionEffect(() => {
    if (!isStore) own.setOptions(given);
  });
  useEffect(() => (isStore ? undefined : own.retain()), [own, isStore]);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const { send, respond, retry, resume, stop, reset } = store;
  return { ...state, send, respond, retry, resume, stop, reset };
}
