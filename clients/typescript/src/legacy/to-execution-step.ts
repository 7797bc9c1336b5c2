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

const runKey = (run: string): string => `run:${run}`;

/** The change of the steps that one event causes. Two calls of one name are told apart by their runs. */
export function toExecutionStep(event: unknown, context: EventAdapterContext): AdapterResult {
  const envelope = toEnvelope(event);
  if (!envelope) return { type: "noop" };
  const { type, node_name: node, run_id: run, timestamp } = envelope;
  const { currentThoughtId, toolStepMap, genId, getSteps } = context;
  const data = envelope.data ?? {};
  const { tool_name, delta, message } = data;
  const time = timestamp || Date.now();

  const add = (
    prefix: string,
    nodeId: string,
    nodeLabel: string,
    step: Pick<ExecutionStep, "stepType" | "title" | "status" | "content" | "data">,
  ): AdapterResult & { type: "add_step" } => ({
    type: "add_step",
    step: { id: genId(prefix), nodeId, nodeLabel, startTime: time, ...step },
  });

  switch (type) {
    case "content":
      if (!delta) break;
      if (currentThoughtId) return { type: "append_content", stepId: currentThoughtId, content: delta };
      return add("thought", node || "agent", node || "Agent", {
        stepType: "agent_thought",
        title: `Reasoning (${node})`,
        status: "running",
        content: delta,
      });
    case "tool_start": {
      const request = data.tool_input;
      const added = add("tool", node || "tool", tool_name, {
        stepType: "tool_execution",
        title: tool_name,
        status: "running",
        data: { request },
      });
      for (const key of run ? [tool_name, runKey(run)] : [tool_name]) toolStepMap.set(key, added.step.id);
      return added;
    }
    case "tool_end": {
      const stepId = stepOf(tool_name, run, toolStepMap);
      if (!stepId) break;
      const request = getSteps().find(({ id }) => id === stepId)?.data?.request;
      for (const [key, id] of toolStepMap) if (id === stepId) toolStepMap.delete(key);
      const status = hasFailed(event) ? "error" : "success";
      return {
        type: "update_step",
        stepId,
        updates: { status, endTime: time, data: { request, response: data.tool_output } },
      };
    }
    case "error":
      if (message === "Stream stopped") return { type: "stopped" };
      return add("error", node || "system", "Error", {
        stepType: "system_log",
        title: "Error",
        status: "error",
        content: message || "Unknown error",
      });
    case "done":
      return { type };
  }
  return { type: "noop" };
}

/** The step that an end belongs to: by its run where start and end have one, else by the name of the tool. */
function stepOf(name: string, run: string, steps: Map<string, string>): string | undefined {
  const byName = steps.get(name);
  const hasOtherRun = run && [...steps].some(([key, id]) => id === byName && key !== name);
  return steps.get(runKey(run)) ?? (hasOtherRun ? undefined : byName);
}

const hasFailed = (event: unknown): boolean =>
  isStandard(event) && (event as { data: { status?: unknown } }).data.status === "failed";
