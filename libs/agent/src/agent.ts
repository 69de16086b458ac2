import { join } from 'node:path';
import {
  type Clock,
  type Executor,
  FleetError,
  type Ids,
  type Log,
  type RemoteAgents,
  type ToolSource,
} from '@hermes-fleet/protocol';
import type { Confinement } from '@hermes-fleet/workspace';
import {
  createCommandRecords,
  createConfinement,
  killLeftovers,
  openWorkspaces,
  recorded,
} from '@hermes-fleet/workspace';
import type { AgentConfig } from './config/config.ts';
import { sourceKeyNotes } from './config/source-keys.ts';
import { createEchoExecutor } from './echo.ts';
import { createLoopExecutor } from './loop/executor.ts';
import type { createLoopConversation } from './loop/loop-conversation.ts';
import { type AgentModel, createModel } from './model/create-model.ts';
import { SHORTEST_PROMPT_CHARS } from './prompt/system-prompt.ts';
import type { AgentTool } from './run/conversation.ts';
import { toolDefinitions } from './run/tool.ts';
import { delegateTool } from './subagents/delegate-tool.ts';
import { loadSubagents, type Subagents } from './subagents/load-definitions.ts';
import { askTool } from './tools/ask.ts';
import { fileTools } from './tools/file-tools.ts';
import { findFilesTool } from './tools/find-files.ts';
import { grepFilesTool } from './tools/grep-files.ts';
import { listFilesTool } from './tools/list-files.ts';
import { memoryTools } from './tools/memory.ts';
import { progressTools } from './tools/progress.ts';
import { rootIdOf, scratchpadTools } from './tools/scratchpad.ts';
import { startSweeping, type UnfinishedTask } from './tools/scratchpad-sweep.ts';
import { shellExecTool } from './tools/shell-exec.ts';
import { createToolbox, isAlwaysOffered } from './tools/toolbox.ts';
import { webFetchTool } from './tools/web-fetch.ts';

/** Leads a run's own conversation in place of the model loop. */
export interface ConversationLead {
  readonly converse: typeof createLoopConversation;
  /** The name that its model knows a tool by. */
  nameOf(tool: string): string;
  /** The tokens that it sends beside the agent's prompt and the brief. */
  readonly baseTokens: number;
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
}

/** Provides the executor that `executor: claude-code` names (libs/claude-code). */
export interface LeadProvider {
  /** Directories that its commands must be able to read beside the system's. CONFIG_INVALID when it is not installed. */
  readableDirectories(config: AgentConfig, env: AgentOptions['env']): Promise<string[]>;
  /** CONFIG_INVALID, with what to do, when it cannot run as configured. */
  createLead(
    config: AgentConfig,
    options: Pick<AgentOptions, 'env' | 'ids' | 'clock'> & { readonly confinement: Confinement },
  ): Promise<ConversationLead>;
}

export interface AgentOptions {
  readonly profile: string;
  readonly config: AgentConfig;
  readonly tier: string;
  /** The contexts' worktrees live below it, and the base repository where `workspace.path` names none. */
  readonly workspaceRoot: string;
  /** Where the gateway keeps its ledger and tokens: checked to be out of the commands' reach. */
  readonly stateDir: string;
  /** `response_handler` of fleet.yaml; default `agent`. */
  readonly responseHandler?: 'agent' | 'llm' | 'echo';
  /** One that was made before, e.g. to launch MCP servers; without it the agent makes its own. */
  readonly confinement?: Confinement;
  /** What `executor: claude-code` runs. */
  readonly claudeCode?: LeadProvider;
  readonly env: { read(name: string): string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly onGuard?: (guard: string, level: string) => void;
  /** After each call of the model that its provider metered: the provider's figure of the input over our estimate. */
  readonly onTokenDrift?: (ratio: number) => void;
  readonly peersSummary?: () => string;
  /** The text of IDENTITY.md: who the agent is, in its prompt. */
  readonly identity?: string;
  /** Tools from outside: MCP servers, the fleet, A2A agents. */
  readonly toolSources?: readonly ToolSource[];
  /** What those tools make usable now, in the vocabulary of the announce: the names of tools, and words for groups. */
  readonly outsideCapabilities?: () => readonly string[];
  /** Agents elsewhere that `delegate` can hand work to. */
  readonly remotes?: RemoteAgents;
  /** Tasks that are not over, also those that no run works on now: their scratchpads stay. */
  readonly unfinished?: () => readonly UnfinishedTask[];
  /** A folder of Markdown files, each a sub-agent of the profile's own; it need not exist. */
  readonly subagentsDir?: string;
}

export interface Agent {
  readonly executor: Executor;
  /** What is enabled and usable now, in the vocabulary of design 2 (SESSION_ANNOUNCE). */
  capabilities(): { tools: string[] };
  repoState(): Promise<{ branch: string; clean: boolean }>;
  /** Tokens below which a run cannot even start. */
  readonly minimumBudget: number;
  /** A command line that runs confined to the workspace, for stdio MCP servers. */
  readonly launch: Confinement['launch'];
  /** One line each for the start-up log. */
  readonly notes: readonly string[];
  /** Aborts what still runs and waits for its end. */
  close(): Promise<void>;
}

/** Puts an agent together; throws CONFIG_INVALID for what cannot work as configured (design 3). */
export async function createAgent(o: AgentOptions): Promise<Agent> {
  const { config } = o;
  const handler = o.responseHandler ?? 'agent';
  const model = handler === 'echo' ? undefined : await createModel(config, o.tier, o.env);
  const lead = leadOf(handler, o);
  const commandsDir = join(o.stateDir, 'commands');
  const made =
    o.confinement ??
    (await createConfinement({
      confine: config.tools.shell.confine,
      workspaceRoot: o.workspaceRoot,
      repositoryPath: config.workspace.path,
      stateDir: o.stateDir,
      readable: (await lead?.readableDirectories(config, o.env)) ?? config.tools.shell.readable,
      clock: o.clock,
      log: o.log,
    }));
  const records = createCommandRecords(commandsDir, { byEnv: made.method !== 'bubblewrap' });
  await killLeftovers(commandsDir, o);
  const confinement = recorded(made, records);
  const claude = await lead?.createLead(config, { ...o, confinement });
  const workspaces = await openWorkspaces({
    ...o,
    root: o.workspaceRoot,
    path: config.workspace.path,
    isolation: config.workspace.isolation,
    confinement,
  });
  const subagents =
    handler === 'agent' && config.subagents.enabled
      ? await loadSubagents({ dir: o.subagentsDir, model: config.model })
      : undefined;
  const tools = toolsOf(handler, config, confinement, o, subagents);
  const running = trackRuns(
    model === undefined
      ? createEchoExecutor(o.tier)
      : createLoopExecutor({
          ...o,
          model,
          limits: config.limits,
          hooks: config.hooks,
          workspaces,
          toolbox: createToolbox({
            own: tools,
            sources: handler === 'agent' ? (o.toolSources ?? []) : [],
            log: o.log,
          }),
          otherUser: confinement.otherUser,
          ...(claude && { main: claude.converse, nameOf: claude.nameOf }),
        }),
  );
  const sweeping = startSweeping({
    ...o,
    workspaces,
    confinement,
    keepDays: config.scratch.keep_days,
    unfinished: () => [...running.tasks(), ...(o.unfinished?.() ?? [])],
  });
  return {
    executor: running.executor,
    capabilities: () => ({
      tools: [
        ...vocabulary(tools.map(({ name }) => name)),
        ...(handler === 'agent' ? (o.outsideCapabilities?.() ?? []) : []),
      ],
    }),
    repoState: () => workspaces.repoState(),
    minimumBudget:
      (model === undefined ? 0 : floor(tools.filter(({ name }) => isAlwaysOffered(name)))) +
      (claude?.baseTokens ?? 0),
    launch: confinement.launch,
    notes: [
      ...notesOf(handler, config, confinement, model),
      ...(claude?.notes ?? []),
      ...(subagents?.notes ?? []),
    ],
    async close() {
      await Promise.all([running.close(), sweeping.close()]);
    },
  };
}

function leadOf(
  handler: 'agent' | 'llm' | 'echo',
  { config, claudeCode }: AgentOptions,
): LeadProvider | undefined {
  if (handler !== 'agent' || config.executor !== 'claude-code') return undefined;
  if (claudeCode !== undefined) return claudeCode;
  const reason = 'this process has no executor claude-code: name loop';
  throw new FleetError('CONFIG_INVALID', `config.yaml executor: ${reason}`, {
    fields: [{ path: 'config.yaml executor', reason }],
  });
}

function toolsOf(
  handler: 'agent' | 'llm' | 'echo',
  config: AgentConfig,
  confinement: Confinement,
  o: Pick<AgentOptions, 'profile' | 'stateDir' | 'clock' | 'remotes'>,
  subagents: Subagents | undefined,
): AgentTool[] {
  if (handler !== 'agent') return [];
  const { workspace, shell, progress, scratchpad, memory, web, ask } = config.tools;
  const { clock } = o;
  const commands = confinement.method !== 'none';
  const search = [listFilesTool({ clock }), findFilesTool({ clock }), grepFilesTool({ clock, commands })];
  return [
    ...(workspace.enabled ? [...fileTools(), ...search] : []),
    ...(shell.enabled && commands
      ? [shellExecTool({ profile: o.profile, timeoutS: shell.timeout_s, clock })]
      : []),
    ...(progress.enabled ? progressTools() : []),
    ...(scratchpad.enabled ? scratchpadTools() : []),
    ...(subagents === undefined
      ? []
      : [
          delegateTool({
            definitions: subagents.definitions,
            remotes: o.remotes,
            profile: o.profile,
            maxSteps: config.subagents.max_steps,
          }),
        ]),
    ...(memory.enabled ? memoryTools({ dir: join(o.stateDir, 'memory') }) : []),
    ...(web.enabled ? [webFetchTool({ clock, allowInternal: web.allow_internal })] : []),
    ...(ask.enabled ? [askTool()] : []),
  ];
}

const CHARS_PER_TOKEN = 4;
const SHORTEST_ANSWER = 64;

/** A rough floor, without loading the tokenizer: the shortest prompt and a short answer. */
function floor(tools: readonly AgentTool[]): number {
  const fixed = toolDefinitions(tools).json.length + SHORTEST_PROMPT_CHARS;
  return Math.ceil(fixed / CHARS_PER_TOKEN) + SHORTEST_ANSWER;
}

function vocabulary(names: readonly string[]): string[] {
  const words = { shell_exec: 'terminal', read_file: 'file', edit_file: 'patch' };
  const general = Object.entries(words).flatMap(([name, word]) => (names.includes(name) ? [word] : []));
  return [...general, ...names];
}

function notesOf(
  handler: 'agent' | 'llm' | 'echo',
  config: AgentConfig,
  confinement: Confinement,
  model: AgentModel | undefined,
): string[] {
  const notes = sourceKeyNotes(config);
  if (handler === 'agent') {
    notes.push(
      config.tools.shell.enabled ? confinement.note : 'shell_exec is off (tools.shell.enabled: false)',
    );
  }
  if (model?.info.id === 'offline/runbook') {
    notes.push(
      'no model is configured: offline/runbook carries out what a brief spells out, and nothing else',
    );
  }
  return notes;
}

/** Lets `close` end what runs: each run ends with SHUTTING_DOWN and can be taken up by the next start. */
function trackRuns(executor: Executor): {
  executor: Executor;
  tasks(): UnfinishedTask[];
  close(): Promise<void>;
} {
  const closing = new AbortController();
  const active = new Map<Promise<unknown>, UnfinishedTask>();
  return {
    tasks: () => [...active.values()],
    executor: {
      model: executor.model,
      async run(task, context) {
        const run = executor.run(task, {
          ...context,
          signal: AbortSignal.any([context.signal, closing.signal]),
        });
        active.set(run, { id: task.id, rootId: rootIdOf(task) });
        try {
          return await run;
        } finally {
          active.delete(run);
        }
      },
    },
    async close() {
      closing.abort(
        new FleetError(
          'SHUTTING_DOWN',
          'the profile is shutting down; the task is taken up at its next start',
        ),
      );
      await Promise.allSettled(active.keys());
    },
  };
}
