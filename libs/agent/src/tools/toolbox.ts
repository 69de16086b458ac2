import { type AdmittedTask, type Log, type ToolSource, taskFields } from '@hermes-fleet/protocol';
import type { AgentTool } from '../run/conversation.ts';
import { toolDefinitions } from '../run/tool.ts';
import { mcpPrefix } from './mcp-names.ts';

/** The tools of a run, and the groups of tools that do not fit its budget. */
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
 * Combines the agent's own tools with those that the sources provide at the start of a run. A source that fails is
 * logged and left out of that run.
 */
export function createToolbox(options: {
  readonly own: readonly AgentTool[];
  readonly sources: readonly ToolSource[];
  readonly log: Log;
}): Toolbox {
  return {
    names: options.own.map(({ name }) => name),
    async offer(task, budgetLimit, signal) {
      const found = await Promise.all(
        options.sources.map(async (source) => {
          try {
            return await source(task, signal);
          } catch (error) {
            signal.throwIfAborted();
            options.log.warn(
              { ...taskFields(task), err: error },
              'a tool source failed; its tools are not offered',
            );
            return [];
          }
        }),
      );
      return fit([...options.own, ...found.flat()], task, budgetLimit);
    },
  };
}

/** Fraction of a task's budget that optional tools may cost per step. */
const SHARE = 1 / 20;
const CHARS_PER_TOKEN = 4;
const ALWAYS = new Set(['list_files', 'read_file', 'write_file', 'edit_file', 'shell_exec']);

/** True for a tool that is offered whatever the budget. */
export const isAlwaysOffered = (name: string): boolean => ALWAYS.has(name);

/**
 * Every tool definition costs tokens at every step. A small budget therefore gets the workspace tools, the tools that
 * the task requires or its brief names, and as many groups of other tools, in order, as a twentieth of it pays for. The selection depends
 * only on the task and the available tools, so a resumed run gets the same ones.
 */
export function fit(tools: readonly AgentTool[], task: AdmittedTask, budgetLimit: number | undefined): Offer {
  if (budgetLimit === undefined) return { tools, leftOut: [] };
  const { requiredCapabilities = [], requiredMcp = [] } = task.dispatch.requirements ?? {};
  // The capability `browser` is provided by the MCP server of that name.
  const servers = [...requiredMcp, ...requiredCapabilities.filter((name) => name === 'browser')];
  const words = task.dispatch.brief.match(/\w+/g) ?? [];
  const named = words.filter((word) => word.includes('_'));
  const required = new Set([...requiredCapabilities, ...servers.map(mcpPrefix), ...named]);
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

/** `memory_read` is in group `memory`, `mcp__files__read` in `mcp__files`. Each workspace tool is its own group. */
function groupOf(name: string): string {
  if (ALWAYS.has(name)) return name;
  const [, server] = /^(mcp__.+?)__/.exec(name) ?? [];
  return server ?? name.split('_')[0] ?? name;
}
