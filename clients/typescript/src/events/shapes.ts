// Written by scripts/types.mjs from middleware/streamweir/protocol.schema.json: do not edit.

/**
 * The required fields of an object, and the kind of each.
 *
 * A kind is one of several words (`a|b`), or of several letters: s text, n number, b true or false, o object, a list,
 * 0 null; `[o` is a list of objects, "" anything.
 */
export type Shape = Readonly<Record<string, string>>;

/** The data of each type of event. */
export const SHAPES: Readonly<Record<string, Shape>> = {
  __proto__: null as never,
  session_start: { session_id: "s", request_id: "s", protocol: "s" },
  thinking: { content: "s" },
  tool_call_start: { tool_id: "s", tool_name: "s", arguments: "o" },
  tool_call_delta: { tool_id: "s", arguments_delta: "s" },
  tool_call_progress: { tool_id: "s", progress: "0n" },
  tool_call_end: { tool_id: "s", status: "failed|success" },
  content: { content: "s" },
  data: {},
  reference: { citations: "[o" },
  status: { scope: "model|node|phase|queue|session|skill|workflow", state: "connected|failed|finished|resumed|running|started|suspended" },
  warning: { message: "s" },
  interaction: { interaction_id: "s", kind: "approval|continue|form|handoff|questions|tool", state: "cancelled|requested|resolved" },
  error: {},
  session_end: {},
};

/** `data.data` of each `data_type`: the shape of an object, or a kind. */
export const DATA_SHAPES: Readonly<Record<string, Shape | string>> = {
  __proto__: null as never,
  dataframe: { columns: "a", name: "s", rows: "[a" },
  chart: {},
  image: {},
  audio: {},
  file: {},
  state: {},
  state_delta: "[o",
  custom: { name: "s", value: "" },
};
