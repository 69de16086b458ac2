import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type Log, taskFields } from '@hermes-fleet/protocol/ports';
import type { AgentTool } from '../run/conversation.ts';
import { toolDefinitions } from '../run/tool.ts';
import { mcpPrefix } from './mcp-names.ts';
import { RequiredToolRefused, requiredServers } from './required-tools.ts';

/** A smaller budget gets the short prompt, and the tools a task needs, in short (docs/agent.md#prompt). In tokens. */
const SMALL_BELOW = 8000;

export const isSmall = (budgetLimit: number | undefined): boolean =>
  budgetLimit !== undefined && budgetLimit < SMALL_BELOW;

/** The tools of a run, and the groups of tools that do not fit its budget. */
export interface Offer {
  readonly tools: readonly AgentTool[];
  readonly leftOut: readonly string[];
  /** Why the task cannot be done with these tools. */
  readonly unmet?: Unmet | undefined;
}

/** Provides external tools at the start of a run. */
export type AgentToolSource = (task: AdmittedTask, signal: AbortSignal) => Promise<readonly AgentTool[]>;

export type Toolbox = ReturnType<typeof createToolbox>;

/**
 * The agent's own tools and those of the sources. A source that fails is logged, and left out of that run; if it throws
 * RequiredToolRefused, the task is unmet.
 */
export function createToolbox(options: {
  readonly own: readonly AgentTool[];
  readonly sources: readonly AgentToolSource[];
  readonly log: Log;
}) {
  return {
    async offer(task: AdmittedTask, budgetLimit: number | undefined, signal: AbortSignal): Promise<Offer> {
      let unmet: Unmet | undefined;
      const found = await Promise.all(
        options.sources.map(async (source) => {
          try {
            return await source(task, signal);
          } catch (error) {
            signal.throwIfAborted();
            if (error instanceof RequiredToolRefused) {
              unmet ??= error.unmet;
              return [];
            }
            const fields = { ...taskFields(task), err: error };
            options.log.warn(fields, 'a tool source failed; its tools are not offered');
            return [];
          }
        }),
      );
      return { ...fit([...options.own, ...found.flat()], task, budgetLimit), unmet };
    },
  };
}

/** Fraction of a task's budget that optional tools may cost per step. */
const SHARE = 1 / 20;
const CHARS_PER_TOKEN = 4;
const ALWAYS = new Set(['list_files', 'read_file', 'write_file', 'edit_file', 'shell_exec']);
/** With these a command and a file are possible. */
const ESSENTIAL = new Set(['read_file', 'write_file', 'shell_exec']);
/** Without commands, files are found and changed with these. */
const ESSENTIAL_WITHOUT_SHELL = new Set(['list_files', 'read_file', 'write_file', 'edit_file']);
const essentialOf = (tools: readonly AgentTool[]): ReadonlySet<string> =>
  tools.some(({ name }) => name === 'shell_exec') ? ESSENTIAL : ESSENTIAL_WITHOUT_SHELL;
/** The tools behind the words of the vocabulary (docs/handshake.md#session_announce). */
const OF_WORD: Readonly<Record<string, readonly string[]>> = { file: ['list_files'], patch: ['edit_file'] };

/** The tools that a small budget is offered for a task that requires and names none. */
export const essentialTools = (tools: readonly AgentTool[]): AgentTool[] =>
  tools.filter(({ name }) => essentialOf(tools).has(name)).map(shortDefinition);

/**
 * The tools that a budget pays for at every step: the workspace's, those that the task requires or names, and others up to
 * a twentieth of it; of a small one, the essential, required and named ones, in short. Depends on the task and the tools
 * alone, so that a resumed run gets the same.
 */
export function fit(tools: readonly AgentTool[], task: AdmittedTask, budgetLimit: number | undefined): Offer {
  if (budgetLimit === undefined) return { tools, leftOut: [] };
  const small = isSmall(budgetLimit);
  const always = small ? essentialOf(tools) : ALWAYS;
  const { requiredCapabilities = [] } = task.dispatch.requirements ?? {};
  const words = task.dispatch.brief.match(/\w+/g) ?? [];
  const named = words.filter((word) => word.includes('_'));
  const ofWords = requiredCapabilities.flatMap((word) =>
    Object.hasOwn(OF_WORD, word) ? (OF_WORD[word] ?? []) : [],
  );
  const required = new Set([
    ...requiredCapabilities,
    ...ofWords,
    ...requiredServers(task).map(mcpPrefix),
    ...named,
  ]);
  let room = small ? 0 : budgetLimit * SHARE;
  const kept = new Set<AgentTool>();
  const leftOut: string[] = [];
  for (const [group, members = []] of Object.entries(Object.groupBy(tools, ({ name }) => groupOf(name)))) {
    const isFree = always.has(group) || required.has(group);
    const wanted = isFree ? members : members.filter(({ name }) => required.has(name));
    const cost = toolDefinitions(members).json.length / CHARS_PER_TOKEN;
    if (wanted.length < members.length && cost <= room) {
      room -= cost;
      wanted.push(...members.filter((member) => !wanted.includes(member)));
    }
    for (const tool of wanted) kept.add(tool);
    if (wanted.length < members.length) leftOut.push(group);
  }
  const offered = tools.filter((tool) => kept.has(tool));
  const shown = (tool: AgentTool): AgentTool => (ALWAYS.has(tool.name) ? shortDefinition(tool) : tool);
  return { tools: small ? offered.map(shown) : offered, leftOut };
}

/** `memory_read` is in group `memory`, `mcp__files__read` in `mcp__files`. Each workspace tool is its own group. */
function groupOf(name: string): string {
  if (ALWAYS.has(name)) return name;
  const [, server] = /^(mcp__.+?)__/.exec(name) ?? [];
  return server ?? name.split('_')[0] ?? name;
}

/** The first sentence of its description, and only the parameters that it must have: the tool still takes the others. */
function shortDefinition(tool: AgentTool): AgentTool {
  const [sentence = ''] = /^[^.;]*/.exec(tool.description) ?? [];
  return { ...tool, description: `${sentence}.`, parameters: requiredOnly(tool) };
}

/** Parameters that one way of calling a tool needs, where another way needs others. */
const NEEDED: Readonly<Record<string, readonly string[]>> = { edit_file: ['path', 'old_text', 'new_text'] };

function requiredOnly({ name: tool, parameters: { properties, required } }: AgentTool): JsonObject {
  const fields = isJsonObject(properties) ? properties : {};
  const names: readonly JsonValue[] = NEEDED[tool] ?? (Array.isArray(required) ? required : []);
  const kept = Object.entries(fields).filter(([name]) => names.length === 0 || names.includes(name));
  return {
    type: 'object',
    properties: Object.fromEntries(kept.map(([name, field]) => [name, typeOnly(field)])),
    ...(names.length === 0 ? {} : { required: [...names] }),
  };
}

const typeOnly = (field: JsonValue): JsonObject =>
  isJsonObject(field) && field.type !== undefined ? { type: field.type } : {};
