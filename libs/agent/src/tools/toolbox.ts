import type { AdmittedTask, Log, ToolSource } from '@hermes-fleet/protocol';
import type { AgentTool } from '../run/conversation.ts';
import { toolDefinitions } from '../run/tool.ts';
import { mcpPrefix } from './mcp-names.ts';

/** The tools of a run, and the groups of tools that its budget is too small for. */
export interface Offer {
  readonly tools: readonly AgentTool[];
  readonly leftOut: readonly string[];
}

export interface Toolbox {
  /** The names of the agent's own tools. */
  readonly names: readonly string[];
  offer(task: AdmittedTask, budgetLimit: number | undefined, signal: AbortSignal): Promise<Offer>;
}

/**
 * The agent's own tools, and those that are there when a run starts. A source that fails is left out of that run, and
 * said so in the log.
 */
export function createToolbox(o: {
  readonly own: readonly AgentTool[];
  readonly sources: readonly ToolSource[];
  readonly log: Log;
}): Toolbox {
  return {
    names: o.own.map(({ name }) => name),
    async offer(task, budgetLimit, signal) {
      const found = await Promise.all(
        o.sources.map(async (source) => {
          try {
            return await source(task, signal);
          } catch (error) {
            signal.throwIfAborted();
            o.log.warn(
              { task_id: task.id, err: error },
              'a source of tools failed: its tools are not offered',
            );
            return [];
          }
        }),
      );
      return fit([...o.own, ...found.flat()], task, budgetLimit);
    },
  };
}

/** Of a task's budget, what the tools that it could do without may take at each step. */
const SHARE = 1 / 20;
const CHARS_PER_TOKEN = 4;
const ALWAYS = new Set(['list_files', 'read_file', 'write_file', 'edit_file', 'shell_exec']);

/** Whether a tool is offered whatever the budget. */
export const isAlwaysOffered = (name: string): boolean => ALWAYS.has(name);

/**
 * Every definition is paid for at every step, so a small budget gets the tools of the workspace and those that the task
 * requires, and of the others, group by group in their order, what a twentieth of it pays for. It depends on the task
 * and on the tools alone: a run that goes on after a restart has the same ones, where there are the same.
 */
export function fit(tools: readonly AgentTool[], task: AdmittedTask, budgetLimit: number | undefined): Offer {
  if (budgetLimit === undefined) return { tools, leftOut: [] };
  const { requiredCapabilities = [], requiredMcp = [] } = task.dispatch.requirements ?? {};
  // `browser` is what the MCP server of that name gives.
  const servers = [...requiredMcp, ...requiredCapabilities.filter((name) => name === 'browser')];
  const required = new Set([...requiredCapabilities, ...servers.map(mcpPrefix)]);
  let room = budgetLimit * SHARE;
  const kept = new Set<AgentTool>();
  const leftOut: string[] = [];
  for (const [group, members = []] of Object.entries(Object.groupBy(tools, ({ name }) => groupOf(name)))) {
    const isFree = ALWAYS.has(group) || required.has(group);
    const wanted = isFree ? members : members.filter(({ name }) => required.has(name));
    const cost = toolDefinitions(members).json.length / CHARS_PER_TOKEN;
    if (wanted.length < members.length && cost <= room) {
      room -= cost;
      wanted.push(...members.filter((member) => !wanted.includes(member)));
    }
    for (const tool of wanted) kept.add(tool);
    if (wanted.length < members.length) leftOut.push(group);
  }
  return { tools: tools.filter((tool) => kept.has(tool)), leftOut };
}

/** `memory_read` is of `memory`, `mcp__files__read` of `mcp__files`; each tool of the workspace stands alone. */
function groupOf(name: string): string {
  if (ALWAYS.has(name)) return name;
  const [, server] = /^(mcp__.+?)__/.exec(name) ?? [];
  return server ?? name.split('_')[0] ?? name;
}
