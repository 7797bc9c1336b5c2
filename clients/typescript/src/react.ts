"use client";

import { useEffect, useInsertionEffect, useState, useSyncExternalStore } from "react";
import { createAgentStream } from "./conversation/agent-stream.js";
import type {
  AgentStream,
  AgentStreamOptions,
  AgentStreamState,
  DefaultInput,
} from "./conversation/conversation-types.js";

/** What the hook returns: the conversation as it is, and its verbs, which stay the same functions. */
export type UseAgentStream<Input = DefaultInput> = AgentStreamState<Input> &
  Pick<AgentStream<Input>, "send" | "respond" | "retry" | "resume" | "stop" | "reset">;

/**
 * A conversation as the state of a component.
 *
 * With options the component has a store of its own, made once; the options of the newest render count. A store that
 * is passed in belongs to whoever has made it. When the last component that shows a store of its own has gone, its
 * run is left, not stopped.
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
