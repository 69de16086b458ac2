/** A sub-agent as its Markdown file defines it (docs/agent.md#sub-agents). */
export interface SubagentDefinition {
  readonly name: string;
  /** One line that tells a delegating agent what this one is for. */
  readonly description: string;
  /** Tools it may use if the run offers them; `mcp__<server>__*` stands for all tools of a server. */
  readonly tools: readonly string[];
  /** Limit of model calls; default: `subagents.max_steps` of config.yaml. */
  readonly maxSteps: number | undefined;
  /** Word limit of its answer. */
  readonly maxWords: number;
  /** Has no effect: sub-agents always use the profile's model. */
  readonly model: string | undefined;
  /** Its own part of the system prompt. */
  readonly instructions: string;
}

/** Tools forbidden to every sub-agent: it can neither delegate nor ask the task's caller. */
export const NEVER: ReadonlySet<string> = new Set(['delegate', 'ask_caller']);

/** Tools that a definition may name, besides those of MCP servers. */
export const KNOWN_TOOLS: ReadonlySet<string> = new Set([
  ...['list_files', 'read_file', 'write_file', 'edit_file', 'find_files', 'grep_files', 'shell_exec'],
  ...['shell_start', 'shell_output', 'shell_stop'],
  ...['progress_read', 'progress_update', 'scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  ...['memory_read', 'memory_write', 'memory_list', 'web_fetch', 'web_search', 'publish_file'],
  ...['a2a_list', 'a2a_discover', 'a2a_call', 'a2a_call_streaming', 'a2a_get_task'],
  ...['fleet_peers', 'fleet_route', 'fleet_send', 'fleet_discard'],
]);

/** The tools of a run that a definition allows. */
export const toolsFor = <T extends { readonly name: string }>(
  { tools }: Pick<SubagentDefinition, 'tools'>,
  offered: readonly T[],
): T[] => offered.filter(({ name }) => !NEVER.has(name) && tools.some((wanted) => names(wanted, name)));

const names = (wanted: string, name: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : wanted === name;
