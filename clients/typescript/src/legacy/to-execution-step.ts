import { type StreamEventEnvelope, toEnvelope } from "./to-envelope.js";

/** One step of a run, as the page lists it. */
export interface ExecutionStep {
  id: string;
  nodeId: string;
  nodeLabel: string;
  stepType: "agent_thought" | "tool_execution" | "system_log";
  title: string;
  status: "running" | "success" | "error";
  startTime: number;
  endTime?: number;
  content?: string;
  // biome-ignore lint/suspicious/noExplicitAny: input and output of any tool
  data?: { request?: any; response?: any };
}

/** A change of the page's list of steps. */
export type AdapterResult =
  | { type: "noop" }
  | { type: "stopped" }
  | { type: "done" }
  | { type: "add_step"; step: ExecutionStep }
  | { type: "append_content"; stepId: string; content: string }
  | { type: "update_step"; stepId: string; updates: Partial<ExecutionStep> };

/** The page's own state of its steps. */
export interface EventAdapterContext {
  currentThoughtId?: string | null | undefined;
  /** The step of a running tool, by its name, and by its run where it has one. */
  toolStepMap: Map<string, string>;
  genId: (prefix: string) => string;
  getSteps: () => ExecutionStep[];
}

/** The change of the steps that one event causes. Two calls of one name are told apart by their runs. */
export function toExecutionStep(event: unknown, context: EventAdapterContext): AdapterResult {
  const { currentThoughtId, toolStepMap, genId, getSteps } = context;
  const { type, node_name: node, run_id, timestamp, data } = toEnvelope(event) ?? ({} as Partial<StreamEventEnvelope>);
  const { tool_name, tool_input, tool_output, delta, message } = data ?? {};
  const run = run_id ? `run:${run_id}` : tool_name;
  const time = timestamp || Date.now();

  const add = (
    prefix: string,
    otherNode: string,
    nodeLabel: string,
    stepType: ExecutionStep["stepType"],
    title: string,
    status: ExecutionStep["status"],
    fields: Partial<ExecutionStep>,
  ): AdapterResult & { type: "add_step" } => {
    const nodeId = node || otherNode;
    const step = { id: genId(prefix), nodeId, nodeLabel, stepType, title, status, startTime: time, ...fields };
    return { type: "add_step", step };
  };

  if (type === "content" && delta) {
    if (currentThoughtId) return { type: "append_content", stepId: currentThoughtId, content: delta };
    const content = { content: delta };
    return add("thought", "agent", node || "Agent", "agent_thought", `Reasoning (${node})`, "running", content);
  }
  if (type === "tool_start") {
    const data = { request: tool_input };
    const added = add("tool", "tool", tool_name, "tool_execution", tool_name, "running", { data });
    toolStepMap.set(tool_name, added.step.id).set(run, added.step.id);
    return added;
  }
  if (type === "tool_end") {
    // the step of the run, else of the name; but not one of the name that has another run
    const named = toolStepMap.get(tool_name);
    const hasRun = run !== tool_name && [...toolStepMap].some(([key, id]) => id === named && key !== tool_name);
    const stepId = toolStepMap.get(run) ?? (hasRun ? null : named);
    if (!stepId) return { type: "noop" };
    for (const [key, id] of toolStepMap) if (id === stepId) toolStepMap.delete(key);
    const request = getSteps().find(({ id }) => id === stepId)?.data?.request;
    const { type: wireType, data: given } = event as { type: unknown; data: { status?: unknown } };
    const status = wireType === "tool_call_end" && given.status === "failed" ? "error" : "success";
    return {
      type: "update_step",
      stepId,
      updates: { status, endTime: time, data: { request, response: tool_output } },
    };
  }
  if (type === "error") {
    if (message === "Stream stopped") return { type: "stopped" };
    return add("error", "system", "Error", "system_log", "Error", "error", { content: message || "Unknown error" });
  }
  return { type: type === "done" ? type : "noop" };
}
