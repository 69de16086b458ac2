import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type {
  Clock,
  Executor,
  Ids,
  Log,
  RemoteAgents,
  RepoState,
  Tracing,
} from '@hermes-fleet/protocol/ports';
import type { Confinement, Workspaces } from '@hermes-fleet/workspace';
import {
  createCommandRecords,
  createConfinement,
  createDiskSpace,
  killLeftovers,
  openWorkspaces,
  recorded,
} from '@hermes-fleet/workspace';
import { type AgentContexts, createAgentContexts } from './agent-contexts.ts';
import { notesOf } from './agent-notes.ts';
import { capabilityNames, createAgentTools, minimumBudgetTokens } from './built-in-tools.ts';
import { type AgentConfig, confinementSettings, setUpOf } from './config/config.ts';
import { createEchoExecutor } from './echo.ts';
import { createLoopExecutor } from './executor/executor.ts';
import { measuredWorkspaces, withinRoom } from './executor/room.ts';
import type { FileLimits } from './inbox/read-files.ts';
import type { MeasuredCall } from './model/call/measured-model.ts';
import type { ModelCalls } from './model/call/model-calls.ts';
import { createModel } from './model/create-model.ts';
import { createModelWindow, type ModelWindow } from './model/probe/model-window.ts';
import { type AllowedNetwork, openConfiguredNetwork } from './network/allowed-network.ts';
import type { CompactionStage, CreateConversation } from './run/conversation.ts';
import { loadSubagents } from './subagents/load-definitions.ts';
import { startSweeping, type UnfinishedTask } from './tools/scratchpad-sweep.ts';
import { type AgentToolSource, createToolbox } from './tools/toolbox.ts';
import { trackRuns } from './track-runs.ts';

/** An executor that replaces the model loop for a run's main conversation. */
export interface ConversationLead {
  readonly converse: CreateConversation;
  /** Maps a tool's name to the name its model calls it by. */
  nameOf(tool: string): string;
  /** Tokens it sends in addition to the agent's prompt and the brief. */
  readonly baseTokens: number;
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
}

/** Implements `executor: claude-code` (libs/agent/claude-code). */
export interface LeadProvider {
  /** Directories its commands must be able to read besides the system's. Throws CONFIG_INVALID when it is not installed. */
  readableDirectories(config: AgentConfig, env: AgentOptions['env']): Promise<string[]>;
  /** Throws CONFIG_INVALID, with the fix, when it cannot run as configured. */
  createLead(
    config: AgentConfig,
    options: Pick<AgentOptions, 'env' | 'ids' | 'clock'> & { readonly confinement: Confinement },
  ): Promise<ConversationLead>;
}

export interface AgentOptions {
  readonly profile: string;
  readonly config: AgentConfig;
  readonly tier: string;
  /** Holds the stores of git and the contexts (docs/operations.md#results). */
  readonly workspaceRoot: string;
  /** Directory of the gateway's ledger and tokens. Commands must not be able to read it; this is checked. */
  readonly stateDir: string;
  /** `response_handler` of fleet.yaml; default `agent`. */
  readonly responseHandler?: 'agent' | 'llm' | 'echo';
  /** An existing confinement, e.g. the one that launches MCP servers. By default the agent creates its own. */
  readonly confinement?: Confinement;
  /** The network of its commands, where `tools.shell.network` names hosts. By default the agent opens its own. */
  readonly network?: AllowedNetwork | undefined;
  /** Where tasks work, in place of the trees that the configuration describes. They confine and record commands themselves. */
  readonly workspaces?: Workspaces;
  /** Required for `executor: claude-code`. */
  readonly claudeCode?: LeadProvider;
  readonly env: { read(name: string): string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly onGuard?: (guard: string, level: string) => void;
  /** Called after each metered model call with the provider's input token count divided by our estimate. */
  readonly onTokenDrift?: (ratio: number) => void;
  /** Called each time a conversation was made shorter. */
  readonly onCompaction?: (stage: CompactionStage) => void;
  /** Called when a call of the model, or of a fallback, has ended, also one that Claude Code made. */
  readonly onModelCall?: (call: MeasuredCall) => void;
  /** Learns how calls of the model end, see `createModelMonitor`. */
  readonly modelCalls?: ModelCalls;
  /** The same, and the window, for each of `fallback_models`. */
  readonly modelFallbacks?: readonly { readonly calls: ModelCalls; readonly window: ModelWindow }[];
  /** The window of the model; default: as config.yaml or a well-known model has it, without asking the provider. */
  readonly modelWindow?: ModelWindow;
  /** The limits of the files that come with a task, from fleet.yaml. */
  readonly files?: FileLimits;
  readonly peersSummary?: () => string;
  /** The text of IDENTITY.md, which the prompt includes. */
  readonly identity?: string;
  /** External tools: MCP servers, the fleet, A2A agents. */
  readonly toolSources?: readonly AgentToolSource[];
  /** Ends the processes that the external tools have started for a context. Called at the end of each of its runs. */
  readonly releaseContext?: (contextId: string) => Promise<void>;
  /** Tool names and tool groups that the external tools provide now (docs/handshake.md#session_announce). */
  readonly outsideCapabilities?: () => readonly string[];
  /** Remote agents that `delegate` can hand work to. */
  readonly remotes?: RemoteAgents;
  /** Unfinished tasks, including those without an active run. Their scratchpads are kept. */
  readonly unfinished?: () => readonly UnfinishedTask[];
  /** Folder of the profile's own sub-agents, one Markdown file each. It need not exist. */
  readonly subagentsDir?: string;
}

export interface Agent {
  readonly executor: Executor;
  /** Tools that are enabled and usable now (docs/handshake.md#session_announce). */
  capabilities(): { tools: string[] };
  repoState(): Promise<RepoState>;
  /** Names the disk while too little of it is free for new tasks; undefined while there is room. */
  shortage(): Unmet | undefined;
  /** Absent in place, where contexts have no files of their own. */
  readonly contexts?: AgentContexts;
  /** The smallest token budget with which a run can start. */
  readonly minimumBudget: number;
  /** Lines for the start-up log. */
  readonly notes: readonly string[];
  /** Aborts active runs and waits until they end. */
  close(): Promise<void>;
}

/** As fleet.yaml has them by default. */
const DEFAULT_FILES: FileLimits = { maxBytes: 32 * 1024 * 1024, timeoutMs: 60_000, allowInternal: [] };

/** Creates an agent. Throws CONFIG_INVALID if the configuration cannot work (docs/configuration.md#configyaml). */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { config } = options;
  const handler = options.responseHandler ?? 'agent';
  const { tier, env, modelCalls: calls } = options;
  const measurement = options.onModelCall && { clock: options.clock, onCall: options.onModelCall };
  const window = options.modelWindow ?? createModelWindow(config, options.log);
  const model =
    handler === 'echo'
      ? undefined
      : await createModel(config, tier, env, { window, calls, measurement, others: options.modelFallbacks });
  const lead = leadOf(handler, options);
  await using opening = new AsyncDisposableStack();
  const network =
    options.network ?? opening.use(await openConfiguredNetwork(config.tools.shell.network, options));
  const commandsDir = join(options.stateDir, 'commands');
  const made =
    options.confinement ??
    (await createConfinement({
      ...confinementSettings(config),
      workspaceRoot: options.workspaceRoot,
      stateDir: options.stateDir,
      readable: (await lead?.readableDirectories(config, options.env)) ?? config.tools.shell.readable,
      clock: options.clock,
      log: options.log,
    }));
  const records = createCommandRecords(commandsDir, { byEnv: made.method !== 'bubblewrap' });
  await killLeftovers(commandsDir, options);
  const confinement = recorded(made, records);
  const claude = await lead?.createLead(config, { ...options, confinement });
  const disk = createDiskSpace({
    root: options.workspaceRoot,
    minFreeMb: config.workspace.min_free_mb,
    // In place, the tree is the user's own.
    limitMb: config.workspace.isolation === 'in_place' ? 0 : config.workspace.max_mb,
    clock: options.clock,
    log: options.log,
  });
  const workspaces =
    options.workspaces ??
    (await openWorkspaces({
      ...options,
      root: options.workspaceRoot,
      path: config.workspace.path,
      isolation: config.workspace.isolation,
      setUp: handler === 'agent' ? setUpOf(config, disk, network) : undefined,
      confinement,
    }));
  const subagents =
    handler === 'agent' && config.subagents.enabled
      ? await loadSubagents({ dir: options.subagentsDir, model: config.model })
      : undefined;
  const { tools, release } =
    handler === 'agent'
      ? await createAgentTools({
          config,
          profile: options.profile,
          stateDir: options.stateDir,
          confinement,
          model: model?.info.id,
          env: options.env,
          clock: options.clock,
          subagents: subagents?.definitions,
          remotes: options.remotes,
          network,
        })
      : { tools: [], release: async () => {} };
  const releaseContext = async (contextId: string): Promise<void> => {
    await Promise.all([release(contextId), options.releaseContext?.(contextId)]);
  };
  const running = trackRuns(
    model === undefined
      ? createEchoExecutor(options.tier)
      : withinRoom(
          createLoopExecutor({
            ...options,
            releaseContext,
            model,
            files: handler === 'agent' ? (options.files ?? DEFAULT_FILES) : undefined,
            limits: config.limits,
            hooks: config.hooks,
            workspaces: measuredWorkspaces(workspaces, disk),
            toolbox: createToolbox({
              own: tools,
              sources: handler === 'agent' ? (options.toolSources ?? []) : [],
              log: options.log,
            }),
            ...(claude && { main: claude.converse, nameOf: claude.nameOf }),
          }),
          disk,
        ),
  );
  const sweeping = startSweeping({
    ...options,
    workspaces,
    keepDays: config.scratch.keep_days,
    unfinished: () => [...running.tasks(), ...(options.unfinished?.() ?? [])],
  });
  const contexts = workspaces.contexts && createAgentContexts(workspaces.contexts, releaseContext);
  const opened = opening.move();
  return {
    executor: running.executor,
    ...(contexts && { contexts }),
    capabilities: () => ({
      tools: [
        ...capabilityNames(tools),
        ...(handler === 'agent' ? (options.outsideCapabilities?.() ?? []) : []),
      ],
    }),
    repoState: () => workspaces.repoState(),
    shortage: disk.unmet,
    minimumBudget: (model === undefined ? 0 : minimumBudgetTokens(tools)) + (claude?.baseTokens ?? 0),
    notes: [
      ...notesOf(handler, config, confinement, model),
      ...(claude?.notes ?? []),
      ...(subagents?.notes ?? []),
    ],
    async close() {
      await Promise.all([running.close(), sweeping.close(), contexts?.close()]);
      await opened.disposeAsync();
    },
  };
}

function leadOf(
  handler: 'agent' | 'llm' | 'echo',
  { config, claudeCode }: AgentOptions,
): LeadProvider | undefined {
  if (handler !== 'agent' || config.executor !== 'claude-code') return undefined;
  if (claudeCode !== undefined) return claudeCode;
  const reason = 'this process does not provide claude-code; use loop';
  throw new FleetError('CONFIG_INVALID', `config.yaml executor: ${reason}`, {
    fields: [{ path: 'config.yaml executor', reason }],
  });
}
