import {
  type Clock,
  type Executor,
  FleetError,
  type Ids,
  type Log,
  type RemoteAgents,
  type ToolSource,
} from '@hermes-fleet/protocol';
import type { AgentConfig } from './config/config.ts';
import { sourceKeyNotes } from './config/source-keys.ts';
import type { Confinement } from './confinement/confinement.ts';
import { createConfinement } from './confinement/create-confinement.ts';
import { createEchoExecutor } from './echo.ts';
import { createLoopExecutor } from './loop/executor.ts';
import { type AgentModel, createModel } from './model/create-model.ts';
import { fileTools } from './tools/file-tools.ts';
import { listFilesTool } from './tools/list-files.ts';
import { shellExecTool } from './tools/shell-exec.ts';
import type { AgentTool } from './tools/tool.ts';
import { toolDefinitions } from './tools/tool-set.ts';
import { createToolbox } from './tools/toolbox.ts';
import { openWorkspaces } from './workspace/workspaces.ts';

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
  readonly env: { read(name: string): string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly onGuard?: (guard: string, level: string) => void;
  /** After each call of the model that its provider metered: the provider's figure of the input over our estimate. */
  readonly onTokenDrift?: (ratio: number) => void;
  readonly peersSummary?: () => string;
  /** Tools from outside: MCP servers, the fleet, A2A agents. */
  readonly toolSources?: readonly ToolSource[];
  /** Agents elsewhere that `delegate` can hand work to. */
  readonly remotes?: RemoteAgents;
  /** A folder of Markdown files, each a sub-agent of the profile's own. */
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
  const confinement =
    o.confinement ??
    (await createConfinement({
      confine: config.tools.shell.confine,
      workspaceRoot: o.workspaceRoot,
      repositoryPath: config.workspace.path,
      stateDir: o.stateDir,
      readable: config.tools.shell.readable,
      clock: o.clock,
      log: o.log,
    }));
  const workspaces = await openWorkspaces({
    ...o,
    root: o.workspaceRoot,
    path: config.workspace.path,
    isolation: config.workspace.isolation,
    confinement,
  });
  const tools = toolsOf(handler, config, confinement, o);
  const running = trackRuns(
    model === undefined
      ? createEchoExecutor(o.tier)
      : createLoopExecutor({
          ...o,
          model,
          limits: config.limits,
          workspaces,
          toolbox: createToolbox({
            own: tools,
            sources: handler === 'agent' ? (o.toolSources ?? []) : [],
            log: o.log,
          }),
          otherUser: confinement.otherUser,
        }),
  );
  return {
    executor: running.executor,
    capabilities: () => ({ tools: vocabulary(tools.map(({ name }) => name)) }),
    repoState: () => workspaces.repoState(),
    minimumBudget: model === undefined ? 0 : floor(tools),
    launch: confinement.launch,
    notes: notesOf(handler, config, confinement, model),
    close: running.close,
  };
}

function toolsOf(
  handler: 'agent' | 'llm' | 'echo',
  config: AgentConfig,
  confinement: Confinement,
  o: { readonly profile: string; readonly clock: Clock },
): AgentTool[] {
  if (handler !== 'agent') return [];
  const { workspace, shell } = config.tools;
  const files = workspace.enabled ? [...fileTools(), listFilesTool()] : [];
  if (!shell.enabled || confinement.method === 'none') return files;
  return [...files, shellExecTool({ profile: o.profile, timeoutS: shell.timeout_s, clock: o.clock })];
}

const PROMPT_CHARS = 1300;
const CHARS_PER_TOKEN = 4;
const SHORTEST_ANSWER = 64;

/** A rough floor, without loading the tokenizer: the fixed part of the prompt and a short answer. */
function floor(tools: readonly AgentTool[]): number {
  const fixed = toolDefinitions(tools).json.length + PROMPT_CHARS;
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
function trackRuns(executor: Executor): { executor: Executor; close(): Promise<void> } {
  const closing = new AbortController();
  const active = new Set<Promise<unknown>>();
  return {
    executor: {
      model: executor.model,
      async run(task, context) {
        const run = executor.run(task, {
          ...context,
          signal: AbortSignal.any([context.signal, closing.signal]),
        });
        active.add(run);
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
      await Promise.allSettled(active);
    },
  };
}
