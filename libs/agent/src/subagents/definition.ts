/** A sub-agent of this profile, as its Markdown file has it (design 3, Sub-agents). */
export interface SubagentDefinition {
  readonly name: string;
  /** One line for whoever hands work to it. */
  readonly description: string;
  /** Names of tools that it may use where the run has them; `mcp__<server>__*` stands for all of a server's. */
  readonly tools: readonly string[];
  /** Model calls; undefined for `subagents.max_steps` of config.yaml. */
  readonly maxSteps: number | undefined;
  /** Of its answer. */
  readonly maxWords: number;
  /** The model that it names, which is the profile's in any case. */
  readonly model: string | undefined;
  /** What it is told, beside what every sub-agent is told. */
  readonly instructions: string;
}

/** What no sub-agent may do: hand work on, and ask the task's caller. */
export const NEVER: ReadonlySet<string> = new Set(['delegate', 'ask_caller']);

/** What a sub-agent may be given, by name. */
export const KNOWN_TOOLS: ReadonlySet<string> = new Set([
  ...['list_files', 'read_file', 'write_file', 'edit_file', 'find_files', 'grep_files', 'shell_exec'],
  ...['progress_read', 'progress_update', 'scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  ...['memory_read', 'memory_write', 'memory_list', 'web_fetch'],
  ...['a2a_list', 'a2a_discover', 'a2a_call', 'a2a_call_streaming', 'a2a_get_task'],
  ...['fleet_peers', 'fleet_route', 'fleet_send'],
]);

/** Of the tools that a run offers, those that a definition names. */
export const toolsFor = <T extends { readonly name: string }>(
  { tools }: Pick<SubagentDefinition, 'tools'>,
  offered: readonly T[],
): T[] => offered.filter(({ name }) => !NEVER.has(name) && tools.some((wanted) => names(wanted, name)));

const names = (wanted: string, name: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : wanted === name;
