import { isObject } from "../events/read-event.js";
import { isStandard } from "./normalizer.js";
import { toEnvelope } from "./to-envelope.js";

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

const keyOf = (run: string): string => `run:${run}`;

/** The change of the steps that one event causes. Two calls of one name are told apart by their runs. */
export function toExecutionStep(event: unknown, context: EventAdapterContext): AdapterResult {
  const envelope = toEnvelope(event);
  if (!envelope) return { type: "noop" };
  const { type, node_name, run_id, timestamp } = envelope;
  const data = envelope.data ?? {};
  const time = timestamp || Date.now();
  if (type === "error" && data.message === "Stream stopped") return { type: "stopped" };
  if (type === "content") return content(data.delta, node_name, time, context);
  if (type === "tool_start") {
    const id = context.genId("tool");
    context.toolStepMap.set(data.tool_name, id);
    if (run_id) context.toolStepMap.set(keyOf(run_id), id);
    return {
      type: "add_step",
      step: {
        id,
        nodeId: node_name || "tool",
        nodeLabel: data.tool_name,
        stepType: "tool_execution",
        title: data.tool_name,
        status: "running",
        startTime: time,
        data: { request: data.tool_input },
      },
    };
  }
  if (type === "tool_end") return toolEnd(data, run_id, time, hasFailed(event), context);
  if (type === "error")
    return { type: "add_step", step: failure(data.message || "Unknown error", node_name, time, context) };
  return { type: type === "done" ? "done" : "noop" };
}

function content(delta: string, node: string, time: number, context: EventAdapterContext): AdapterResult {
  if (!delta) return { type: "noop" };
  const { currentThoughtId } = context;
  if (currentThoughtId) return { type: "append_content", stepId: currentThoughtId, content: delta };
  return {
    type: "add_step",
    step: {
      id: context.genId("thought"),
      nodeId: node || "agent",
      nodeLabel: node || "Agent",
      stepType: "agent_thought",
      title: `Reasoning (${node})`,
      status: "running",
      startTime: time,
      content: delta,
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the data of an envelope may hold anything
function toolEnd(data: any, run: string, time: number, failed: boolean, context: EventAdapterContext): AdapterResult {
  const id = stepOf(data.tool_name, run, context.toolStepMap);
  if (!id) return { type: "noop" };
  const known = context.getSteps().find((step) => step.id === id);
  for (const [key, value] of context.toolStepMap) if (value === id) context.toolStepMap.delete(key);
  return {
    type: "update_step",
    stepId: id,
    updates: {
      status: failed ? "error" : "success",
      endTime: time,
      data: { request: known?.data?.request, response: data.tool_output },
    },
  };
}

/** The step that an end belongs to: by its run where start and end have one, else by the name of the tool. */
function stepOf(name: string, run: string, steps: Map<string, string>): string | undefined {
  const byRun = run ? steps.get(keyOf(run)) : undefined;
  if (byRun) return byRun;
  const byName = steps.get(name);
  const hasOtherRun = run && [...steps].some(([key, id]) => id === byName && key.startsWith("run:"));
  return hasOtherRun ? undefined : byName;
}

const hasFailed = (event: unknown): boolean =>
  isStandard(event) && isObject(event) && isObject(event.data) && event.data.status === "failed";

const failure = (message: string, node: string, time: number, context: EventAdapterContext): ExecutionStep => ({
  id: context.genId("error"),
  nodeId: node || "system",
  nodeLabel: "Error",
  stepType: "system_log",
  title: "Error",
  status: "error",
  startTime: time,
  content: message,
});
