import { join } from 'node:path';
import type { JsonObject } from '@hermes-fleet/protocol';
import { BUNDLE_CAPABILITY, repositoryCapability, type Unmet } from '@hermes-fleet/protocol/handshake';
import type {
  BundleSource,
  Executor,
  RemoteAgents,
  RepoState,
  RepositoryBundles,
  TaskResults,
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
import { type AgentConfig, confinementSettings } from './config/config-yaml.ts';
import { createModelWindow } from './config/model-window.ts';
import { repositoriesOf, shownRepositories } from './config/repositories.ts';
import { setUpOf } from './config/set-up.ts';
import { createEchoExecutor } from './echo.ts';
import { createTaskExecutor } from './executor/executor.ts';
import { loopExecutor } from './executor/loop-executor.ts';
import { measuredWorkspaces, withinRoom } from './executor/room.ts';
import { commitsInPlace } from './executor/run-start.ts';
import type { FileLimits } from './inbox/read-files.ts';
import { type AgentModel, createModel, type ModelDependencies } from './model/create-model.ts';
import { type AllowedNetwork, openConfiguredNetwork } from './network/allowed-network.ts';
import type { Observation } from './run/conversation.ts';
import type { ExecutorProvider, Runtime } from './run/executor-provider.ts';
import { loadSubagents } from './subagents/load-definitions.ts';
import { startSweeping, type UnfinishedTask } from './tools/scratchpad-sweep.ts';
import { type AgentToolSource, createToolbox } from './tools/toolbox.ts';
import { trackRuns } from './track-runs.ts';

export interface AgentProfile {
  readonly name: string;
  readonly tier: string;
  readonly identity?: string;
  /** Folder of its own sub-agents, one Markdown file each. It need not exist. */
  readonly subagentsDir?: string;
}

/** Where its tasks work. */
export interface AgentPlace {
  /** Holds the stores of git and the contexts (docs/operations.md#results). */
  readonly workspaceRoot: string;
  /** Directory of the gateway's ledger and tokens. Commands must not be able to read it; this is checked. */
  readonly stateDir: string;
  /** An existing confinement, e.g. the one that launches MCP servers. By default the agent creates its own. */
  readonly confinement?: Confinement;
  /** The network of its commands, where `tools.shell.network` names hosts. By default the agent opens its own. */
  readonly network?: AllowedNetwork | undefined;
  /** In place of the trees that the configuration describes. They confine and record commands themselves. */
  readonly workspaces?: Workspaces;
  /** Unfinished tasks, including those without an active run. Their scratchpads are kept. */
  readonly unfinished?: () => readonly UnfinishedTask[];
  /** The checkpoint of an unfinished task. */
  readonly checkpoint?: (taskId: string) => JsonObject | undefined;
}

/** What it can use besides its own tools: MCP servers, the fleet, A2A agents. */
export interface OutsideTools {
  readonly sources?: readonly AgentToolSource[];
  /** Ends the processes that they have started for a context. Called at the end of each of its runs. */
  readonly release?: (contextId: string) => Promise<void>;
  /** Tool names and tool groups that they provide now (docs/handshake.md#session_announce). */
  readonly capabilities?: () => readonly string[];
  readonly remotes?: RemoteAgents;
  readonly peersSummary?: () => string;
}

export interface AgentOptions {
  readonly config: AgentConfig;
  /** The provider of `config.executor`. */
  readonly executor: ExecutorProvider;
  /** `response_handler` of fleet.yaml; default `agent`. */
  readonly responseHandler?: 'agent' | 'llm' | 'echo';
  readonly profile: AgentProfile;
  readonly place: AgentPlace;
  /** What is known of the model and its fallbacks; default: as config.yaml or a well-known model has it. */
  readonly model?: Omit<ModelDependencies, 'measurement'>;
  readonly tools?: OutsideTools;
  /** The limits of the files that come with a task, from fleet.yaml. */
  readonly files?: FileLimits;
  /** Opens the bundles of callers' checkouts; by default no task can work on one. */
  readonly bundles?: BundleSource;
  readonly observe: Observation;
  readonly runtime: Runtime;
}

export interface Agent {
  readonly executor: Executor;
  /** Tools that are enabled and usable now (docs/handshake.md#session_announce). */
  capabilities(): { tools: string[] };
  repoState(): Promise<RepoState>;
  /** Names the disk while too little of it is free for new tasks; undefined while there is room. */
  shortage(): Unmet | undefined;
  /** The results of tasks, as commits. */
  readonly results?: TaskResults | undefined;
  /** The repositories that tasks can name. */
  readonly repositories: ReturnType<typeof shownRepositories>;
  /** The checkouts that callers sent; absent in place. */
  readonly bundles?: RepositoryBundles | undefined;
  /** Absent in place, where contexts have no files of their own. */
  readonly contexts?: Omit<AgentContexts, 'close'>;
  /** The smallest token budget with which a run can start. */
  readonly minimumBudget: number;
  readonly notes: readonly string[];
  /** Aborts active runs and waits until they end. */
  close(): Promise<void>;
}

/** As fleet.yaml has them by default. */
const DEFAULT_FILES: FileLimits = { maxBytes: 32 * 1024 * 1024, timeoutMs: 60_000, allowInternal: [] };

/** Creates an agent. Throws CONFIG_INVALID if the configuration cannot work (docs/configuration.md#configyaml). */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { config, profile, place, observe, runtime, tools: outside = {} } = options;
  const { workspaceRoot, stateDir } = place;
  const { clock } = runtime;
  const { log } = observe;
  const handler = options.responseHandler ?? 'agent';
  const isAgent = handler === 'agent';
  const executor = isAgent ? options.executor : loopExecutor;
  const model = handler === 'echo' ? undefined : await modelOf(options);
  await using opening = new AsyncDisposableStack();
  const network =
    place.network ??
    opening.use(await openConfiguredNetwork(config.tools.shell.network, { stateDir, clock, log }));
  const commandsDir = join(stateDir, 'commands');
  const made =
    place.confinement ??
    (await createConfinement({
      ...confinementSettings(config, await executor.readableDirectories(runtime.env)),
      workspaceRoot,
      stateDir,
      clock,
      log,
    }));
  const records = createCommandRecords(commandsDir, { byEnv: made.method !== 'bubblewrap' });
  await killLeftovers(commandsDir, { clock, log });
  const confinement = recorded(made, records);
  const lead = await executor.createLead(config, { ...runtime, confinement });
  const isInPlace = config.workspace.isolation === 'in_place';
  const disk = createDiskSpace({
    root: workspaceRoot,
    minFreeMb: config.workspace.min_free_mb,
    // In place, the tree is the user's own.
    limitMb: isInPlace ? 0 : config.workspace.max_mb,
    clock,
    log,
  });
  const setUpPlace = { disk, network };
  const repositories = isAgent ? repositoriesOf(config, runtime.env, setUpPlace) : [];
  const workspaces =
    place.workspaces ??
    (await openWorkspaces({
      profile: profile.name,
      root: workspaceRoot,
      path: config.workspace.path,
      isolation: config.workspace.isolation,
      commits: {
        author: config.workspace.commit.author,
        signingKeyFile: config.workspace.commit.signing_key_file,
      },
      setUp: isAgent ? setUpOf(config.workspace, config, setUpPlace, 'workspace.setup') : undefined,
      repositories,
      confinement,
      shortage: disk.unmet,
      hasInterrupted: isInPlace ? interruptedIn(place) : undefined,
      clock,
      log,
    }));
  const subagents =
    isAgent && config.subagents.enabled
      ? await loadSubagents({ dir: profile.subagentsDir, model: config.model })
      : undefined;
  const { tools, release } = isAgent
    ? await createAgentTools({
        config,
        profile: profile.name,
        stateDir,
        confinement,
        model: model?.info.id,
        runtime,
        subagents: subagents?.definitions,
        remotes: outside.remotes,
        network,
        hasBackground: lead.hasBackground,
      })
    : { tools: [], release: async () => {} };
  const releaseContext = async (contextId: string): Promise<void> => {
    await Promise.all([release(contextId), outside.release?.(contextId)]);
  };
  const running = trackRuns(
    model === undefined
      ? createEchoExecutor(profile.tier)
      : withinRoom(
          createTaskExecutor({
            ...options,
            lead,
            model,
            files: isAgent ? (options.files ?? DEFAULT_FILES) : undefined,
            workspaces: measuredWorkspaces(workspaces, disk),
            toolbox: createToolbox({ own: tools, sources: isAgent ? (outside.sources ?? []) : [], log }),
            releaseContext,
            peersSummary: outside.peersSummary,
            clock,
          }),
          disk,
        ),
  );
  const sweeping = startSweeping({
    ...runtime,
    log,
    workspaces,
    keepDays: config.scratch.keep_days,
    unfinished: () => [...running.tasks(), ...(place.unfinished?.() ?? [])],
  });
  const contexts = workspaces.contexts && createAgentContexts(workspaces.contexts, releaseContext);
  const opened = opening.move();
  return {
    executor: running.executor,
    ...(contexts && { contexts }),
    results: workspaces.results,
    bundles: workspaces.bundles,
    repositories: isAgent ? shownRepositories(config) : [],
    capabilities: () => ({
      tools: [
        ...capabilityNames(tools),
        ...(isAgent ? (outside.capabilities?.() ?? []) : []),
        ...repositories.map(({ name }) => repositoryCapability(name)),
        ...(isAgent && options.bundles && workspaces.bundles ? [BUNDLE_CAPABILITY] : []),
      ],
    }),
    repoState: () => workspaces.repoState(),
    shortage: disk.unmet,
    minimumBudget: model === undefined ? 0 : minimumBudgetTokens(tools) + lead.baseTokens,
    notes: [
      ...notesOf(handler, config, options.executor, confinement, model),
      ...lead.notes,
      ...(subagents?.notes ?? []),
    ],
    async close() {
      await Promise.all([running.close(), sweeping.close(), contexts?.close()]);
      await opened.disposeAsync();
    },
  };
}

/** Returns a function that tells whether a task is unfinished that an earlier process began, and whose work is committed in place. */
function interruptedIn({ unfinished = () => [], checkpoint = () => undefined }: AgentPlace): () => boolean {
  const committing = unfinished().filter(({ id }) => commitsInPlace(checkpoint(id)));
  const ids = new Set(committing.map(({ id }) => id));
  return () => ids.size > 0 && unfinished().some(({ id }) => ids.has(id));
}

function modelOf({ config, profile, model, observe, runtime }: AgentOptions): Promise<AgentModel> {
  const { onModelCall: onCall, log } = observe;
  return createModel(config, profile.tier, runtime.env, {
    calls: model?.calls,
    others: model?.others,
    window: model?.window ?? createModelWindow(config, log),
    measurement: onCall && { clock: runtime.clock, onCall },
    log,
  });
}
