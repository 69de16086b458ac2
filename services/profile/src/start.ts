import { join } from 'node:path';
import type { OutboxPublisher } from '@hermes-fleet/events';
import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { registerDrainRoute, registerFleetMcp } from '@hermes-fleet/gateway';
import {
  busState,
  closeConnections,
  closeStores,
  connectBus,
  createMemberGateway,
  createMemberPeers,
  type DependencyState,
  flushAndClose,
  leaveRotation,
  openMember,
  openMemberTracing,
  readBacklog,
  readinessFrom,
  serveMember,
  storeState,
} from '@hermes-fleet/gateway/member';
import type { Ledger } from '@hermes-fleet/ledger';
import {
  confinementSettings,
  createAgent,
  createModelMonitors,
  type FileLimits,
  type McpTools,
  openConfiguredNetwork,
} from '@hermes-fleet/loop';
import type { McpPool } from '@hermes-fleet/mcp';
import { isJsonObject } from '@hermes-fleet/protocol';
import type { ModelWatch, RepoState } from '@hermes-fleet/protocol/ports';
import { createLogger, createSecretEnv, type Host, type Readiness } from '@hermes-fleet/service';
import { createConfinement } from '@hermes-fleet/workspace';
import { commandsState } from './commands.ts';
import type { Environment } from './environment.ts';
import { EXECUTORS } from './executors.ts';
import { createExternalTools } from './external-tools.ts';
import { openMcp } from './open-mcp.ts';
import { readConfiguration } from './read-configuration.ts';

/** The part of the shutdown time for streams, outbox and files, after the tasks have stopped. */
const AFTER_TASKS_MS = 5_000;

/**
 * Starts one profile: configuration, ownership, ledger, bus, MCP servers, agent, unfinished tasks, and the listener last
 * (docs/architecture.md). Resolves when the profile serves, or when it was told to stop before. A start that throws leaves
 * no child process, no listener and no lock behind.
 */
export async function startProfile(
  environment: Environment,
  processEnv: NodeJS.ProcessEnv,
  host: Host = {},
): Promise<void> {
  const log = createLogger({ name: environment.name, level: environment.logLevel, stream: host.output });
  const env = createSecretEnv(processEnv);
  const configuration = readConfiguration(environment, env, processEnv);
  const { agent: agentConfig, tier, identity } = configuration;
  const { default: defaultBudget, count_cache: countCache } = agentConfig.budget;
  const { stateDir, workspaceDir: workspaceRoot } = environment;
  const executor = EXECUTORS[agentConfig.executor];

  await using opened = new AsyncDisposableStack();
  const tracing = await openMemberTracing(environment.name, processEnv, log, opened);
  const disabled = 'this profile sends and serves nothing';
  const member = openMember(environment, configuration, { log, tracing, disabled }, opened);
  if (!member) return;
  const { profile, config, ledger, metrics, clock, ids } = member;
  const bus = connectBus({ ...member, login: member.credentials.bus });
  opened.defer(async () => bus?.close());
  readBacklog(metrics, bus ? [ledger.outbox] : [], [bus]);

  const memberPeers = createMemberPeers(member);
  const network = opened.use(
    await openConfiguredNetwork(agentConfig.tools.shell.network, { stateDir, clock, log }),
  );
  const confinement = await createConfinement({
    ...confinementSettings(agentConfig, await executor.readableDirectories(env)),
    workspaceRoot,
    stateDir,
    users: environment.commandUsers,
    clock,
    log,
  });
  const commands = commandsState(configuration, confinement);
  const mcp = await openMcp({
    config: agentConfig.mcp,
    confinement,
    network,
    clock,
    log,
    onOperation: (server, method, outcome, seconds) =>
      metrics.observe('fleet_mcp_operation_duration_seconds', { server, method, outcome }, seconds),
  });
  opened.defer(() => mcp.close());
  const responseHandler = config.fleet.response_handler;
  const model = createModelMonitors({
    config: agentConfig,
    probed: (each) => (responseHandler === 'echo' ? undefined : executor.probedModel(each, env)),
    clock,
    log,
  });
  opened.defer(() => model.close());
  const external = createExternalTools({
    profile,
    fleet: config,
    config: agentConfig,
    peers: memberPeers.peers,
    mcp,
    network,
    env,
    clock,
    log,
    tracing,
    subtasks: () => fleet.gateway.subtasks,
  });
  for (const changes of [mcp.onChange, mcp.onToolsChanged])
    opened.use(changes(() => void external.mcp.examine()));
  const agent = await createAgent({
    config: agentConfig,
    executor,
    responseHandler,
    profile: { name: profile, tier, identity, subagentsDir: join(environment.dir, 'agents') },
    place: {
      workspaceRoot,
      stateDir,
      confinement,
      network,
      unfinished: () => unfinishedTasks(ledger),
      checkpoint: ledger.loadCheckpoint,
    },
    model,
    tools: external.tools,
    files: fileLimits(config.fleet.files),
    bundles: { open: (...asked) => fleet.gateway.checkouts.source.open(...asked) },
    observe: {
      log,
      tracing,
      onGuard: (guard, level) => metrics.add('fleet_guard_interventions_total', { guard, level }),
      onTokenDrift: (ratio) => metrics.observe('fleet_token_drift_ratio', { model_tier: tier }, ratio),
      onCompaction: (stage) => metrics.add('fleet_agent_compactions_total', { stage }),
      onModelCall({ outcome, seconds, firstTokenSeconds = Number.NaN }) {
        metrics.observe('fleet_model_call_duration_seconds', { outcome }, seconds);
        metrics.observe('fleet_model_first_token_seconds', {}, firstTokenSeconds);
      },
    },
    runtime: { env, clock, ids },
  });
  opened.defer(() => agent.close());
  for (const note of [...agent.notes, ...external.notes]) log.info({ profile }, note);

  const fleet = createMemberGateway(
    member,
    memberPeers,
    { agent, mcp, model, defaultBudget, countCache },
    opened,
  );
  await serveMember(
    member,
    fleet,
    {
      host,
      countCache,
      contexts: agent.contexts,
      routes: (app) => {
        registerDrainRoute(app, fleet);
        registerFleetMcp(app, {
          ...member,
          ...memberPeers,
          gateway: fleet.gateway,
          countCache,
          maxCallsPerCaller: config.fleet.limits.max_streams_per_caller,
          publicUrl: member.server.public_url,
        });
      },
      readiness: (stopping) =>
        readinessOf({
          ledger,
          bus,
          mcp,
          leftOut: external.mcp.leftOut(),
          model,
          repo: fleet.gateway.repoState(),
          commands,
          stopping,
        }),
      recover: () => fleet.gateway.recover(),
      // docs/architecture.md tells the order. Tasks get `graceMs` to reach a checkpoint.
      shutdownSteps: (serving, leave, graceMs) => [
        { name: 'leave rotation and stop tasks', run: () => leaveRotation(serving, leave, graceMs) },
        ...closeConnections(serving),
        { name: 'flush the outbox', run: () => flushAndClose([bus], log) },
        {
          name: 'close MCP servers, the agent and the probes of its model',
          run: async () => void (await Promise.all([mcp.close(), agent.close(), model.close()])),
        },
        { name: 'close the ledger', run: () => closeStores([ledger], serving.ownership) },
      ],
      afterTasksMs: AFTER_TASKS_MS,
    },
    opened,
  );
}

/**
 * A profile needs its ledger and its repositories. A broker, an MCP server or a model that is unavailable degrades it: it can still relay tasks,
 * and answer for those that it has (docs/operations.md).
 */
function readinessOf({
  ledger,
  bus,
  mcp,
  leftOut,
  model,
  repo,
  commands,
  stopping,
}: {
  readonly ledger: Ledger;
  readonly bus: OutboxPublisher | undefined;
  readonly mcp: McpPool;
  /** Tools that models are not offered, by MCP server. */
  readonly leftOut: ReturnType<McpTools['leftOut']>;
  readonly model: ModelWatch;
  readonly repo: RepoState;
  readonly commands: DependencyState | undefined;
  readonly stopping: boolean;
}): Readiness {
  const dependencies: Record<string, DependencyState> = {
    ledger: storeState(ledger.problem()),
    workspace: storeState(repo.problem),
  };
  if (bus) dependencies.nats = busState(bus.state());
  for (const [name, { state, detail }] of Object.entries(mcp.health())) {
    if (state === 'disabled') continue;
    const missing = leftOut.get(name) ?? [];
    const told = missing.length === 0 ? {} : { detail: `tools left out: ${missing.join('; ')}` };
    dependencies[`mcp:${name}`] =
      state === 'ok' ? { state: 'ok', ...told } : { state: 'degraded', detail: `${state}: ${detail}` };
  }
  const { state, detail } = model.health();
  dependencies.model =
    state === 'ok' ? { state: 'ok' } : { state: 'degraded', detail: `${state}: ${detail}` };
  if (commands) dependencies.commands = commands;
  if (stopping) dependencies.gateway = { state: 'down', detail: 'stopping' };
  return readinessFrom(dependencies);
}

function fileLimits({ max_mb, timeout_s, allow_internal }: FleetConfig['fleet']['files']): FileLimits {
  return { maxBytes: max_mb * 1024 * 1024, timeoutMs: timeout_s * 1000, allowInternal: allow_internal };
}

/** The unfinished tasks, each with the root of its chain; their files on disk are kept. */
function unfinishedTasks(
  ledger: Pick<Ledger, 'unfinished'>,
): { readonly id: string; readonly rootId: string }[] {
  return ledger.unfinished().map(({ id, key, dispatch: { task } }) => {
    const root = isJsonObject(task) ? (task.root_id ?? task.task_id) : undefined;
    return { id, rootId: typeof root === 'string' ? root : key };
  });
}
