import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createA2AClient, registerA2A } from '@hermes-fleet/a2a';
import { createAgent } from '@hermes-fleet/agent';
import { claudeCode } from '@hermes-fleet/claude-code';
import type { OutboxPublisher } from '@hermes-fleet/events';
import { createGateway, registerFleetRoutes } from '@hermes-fleet/fleet';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { createMcpPool, type McpPool } from '@hermes-fleet/mcp';
import {
  busState,
  cardOf,
  connectAnnounces,
  connectBus,
  type DependencyState,
  EXTENSIONS,
  listen,
  readinessFrom,
  startBacklogGauge,
  startRetention,
  storeState,
  version,
} from '@hermes-fleet/member';
import { createAnnouncer, createPeerRegistry, recordAnnounceOf } from '@hermes-fleet/peers';
import {
  systemClock as clock,
  HANDSHAKE_EXTENSION,
  systemIds as ids,
  isJsonObject,
} from '@hermes-fleet/protocol';
import {
  createApp,
  createAuthenticator,
  createLogger,
  createMetrics,
  createSecretEnv,
  onShutdown,
  type Readiness,
} from '@hermes-fleet/service';
import { acquireOwnership } from '@hermes-fleet/store';
import { createConfinement } from '@hermes-fleet/workspace';
import { readConfiguration } from './configuration.ts';
import type { Environment } from './environment.ts';
import { createExternalTools } from './external-tools.ts';
import { shutdownSteps } from './shutdown-steps.ts';

/** Of the time that a stop may take, what streams, the outbox and the files get after the tasks. */
const AFTER_TASKS_MS = 5_000;
/** What tasks that were taken up again get to reach a checkpoint when the start then fails. */
const FAILED_START_GRACE_MS = 2_000;

/**
 * Starts one profile: configuration, ownership, ledger, bus, MCP servers, agent, unfinished tasks, and last of all the
 * listener (design 1, Start-up and shutdown). Resolves when the profile serves, or was told to stop before; what throws
 * leaves nothing behind: no child process, no listener, no lock.
 */
export async function startProfile(environment: Environment, processEnv: NodeJS.ProcessEnv): Promise<void> {
  const { name: profile } = environment;
  const log = createLogger({ name: profile, level: environment.logLevel });
  const env = createSecretEnv(processEnv);
  const configuration = readConfiguration(environment, env, processEnv);
  const { fleet: config, credentials } = configuration;
  const { server } = config.fleet;
  if (!config.fleet.enabled || !server) {
    log.info({ profile }, 'fleet.enabled is false: this profile sends and serves nothing');
    return;
  }
  for (const note of configuration.notes) log.info({ profile }, note);
  for (const warning of configuration.warnings) log.warn({ profile }, warning);

  mkdirSync(environment.stateDir, { recursive: true, mode: 0o700 });
  await using failed = new AsyncDisposableStack();
  const ownership = failed.use(acquireOwnership({ dir: environment.stateDir, profile }));
  const ledger = failed.adopt(
    openLedger({ file: join(environment.stateDir, 'ledger.db'), profile, clock, ids, log }),
    (opened) => opened.close(),
  );
  const peerNames = Object.keys(credentials.peers);
  const callers = credentials.callers.map(({ name }) => name);
  const metrics = createMetrics({ profile, peers: peerNames, callers, tiers: config.fleet.tiers });
  const bus = connectBus({ profile, config, login: credentials.bus, ledger, clock, log, metrics });
  failed.defer(async () => bus?.close());
  const backlog = failed.use(
    startBacklogGauge({ outboxes: bus ? [ledger.outbox] : [], clock, log, metrics }),
  );

  const client = createA2AClient({ clock, log, extensions: [HANDSHAKE_EXTENSION] });
  const peers = createPeerRegistry({
    ledger,
    configured: credentials.peers,
    join: credentials.join,
    clock,
    log,
    self: profile,
  });
  const confinement = await createConfinement({
    confine: configuration.agent.tools.shell.confine,
    workspaceRoot: environment.workspaceDir,
    repositoryPath: configuration.agent.workspace.path,
    stateDir: environment.stateDir,
    readable: await claudeCode.readableDirectories(configuration.agent, env),
    clock,
    log,
  });
  const mcp = createMcpPool({
    servers: configuration.agent.mcp.servers,
    clock,
    log,
    launch: confinement.launch,
    onOperation: metrics.mcpOperation,
  });
  failed.defer(() => mcp.close());
  const external = createExternalTools({
    profile,
    fleet: config,
    config: configuration.agent,
    peers,
    mcp,
    env,
    clock,
    log,
    subtasks: () => gateway.subtasks,
  });
  const agent = await createAgent({
    profile,
    ...external.agentOptions,
    config: configuration.agent,
    responseHandler: config.fleet.response_handler,
    onGuard: metrics.guard,
    onTokenDrift: (ratio) => metrics.tokenDrift(configuration.tier, ratio),
    tier: configuration.tier,
    workspaceRoot: environment.workspaceDir,
    stateDir: environment.stateDir,
    subagentsDir: join(environment.dir, 'agents'),
    identity: configuration.identity,
    unfinished: () => unfinishedTasks(ledger),
    confinement,
    claudeCode,
    env,
    clock,
    ids,
    log,
  });
  failed.defer(() => agent.close());
  for (const note of [...agent.notes, ...external.notes]) log.info({ profile }, note);

  const announces = connectAnnounces({
    profile,
    config,
    login: credentials.bus,
    clock,
    log,
    onAnnounce: (announce, from) => recordAnnounceOf({ peers, clock, log, metrics }, [announce], from),
  });
  failed.defer(async () => announces?.close());
  const announcer = createAnnouncer({
    self: () => gateway.freshAnnounce(),
    selfAsKnown: () => gateway.announce(),
    peers,
    client,
    clock,
    log,
    metrics,
    bus: announces,
  });
  const gateway = createGateway({
    profile,
    version,
    ledger,
    agent,
    mcp,
    peers,
    announcer,
    client,
    clock,
    ids,
    log,
    metrics,
    config,
    defaultBudget: configuration.agent.budget.default,
    countCache: configuration.agent.budget.count_cache,
  });
  failed.defer(() => gateway.stop(FAILED_START_GRACE_MS));

  const stopping = new AbortController();
  const app = createApp({
    name: profile,
    version,
    log,
    metrics,
    authenticate: server.auth_required ? createAuthenticator(credentials.callers) : undefined,
    readiness: () => readinessOf({ ledger, bus, mcp, stopping: stopping.signal.aborted }),
  });
  const a2a = registerA2A(app, {
    ledger,
    intake: gateway,
    log,
    clock,
    replyMetadata: gateway.replyMetadata,
    extensions: EXTENSIONS.map(({ uri }) => uri),
    card: (request) => cardOf(server, configuration.identity, request),
  });

  registerFleetRoutes(app, {
    profile,
    peers,
    gateway,
    ledger,
    clock,
    defaultBudget: configuration.agent.budget.default,
    countCache: configuration.agent.budget.count_cache,
  });

  const retention = startRetention({
    ledger,
    clock,
    log,
    finishedTasksDays: config.fleet.retention.finished_tasks_days,
  });
  failed.defer(() => retention.close());

  const graceMs = config.fleet.shutdown.grace_s * 1000;
  const leaver = {
    close: async () => {
      await announcer.farewell();
      await Promise.all([announcer.close(), announces?.close()]);
    },
  };
  const opened = {
    log,
    gateway,
    announcer: leaver,
    retention,
    a2a,
    app,
    bus,
    backlog,
    mcp,
    agent,
    ledger,
    ownership,
  };
  const signals = onShutdown({
    log,
    graceMs: graceMs + AFTER_TASKS_MS,
    steps: shutdownSteps(opened, () => stopping.abort(), graceMs),
  });
  const { signal } = stopping;
  try {
    await gateway.recover();
    if (!signal.aborted) await listen(app, profile, server);
  } catch (error) {
    if (!signal.aborted) {
      signals[Symbol.dispose]();
      throw error;
    }
  }
  // All of it is the shutdown's from now on, which may be under way already.
  failed.move();
  if (!signal.aborted) announcer.start();
}

/**
 * What a gateway needs to do its work. Without its ledger it can promise nothing; a broker or an MCP server that is
 * away degrades it (design 5, Containers).
 */
function readinessOf(o: {
  readonly ledger: Ledger;
  readonly bus: OutboxPublisher | undefined;
  readonly mcp: McpPool;
  readonly stopping: boolean;
}): Readiness {
  const dependencies: Record<string, DependencyState> = { ledger: storeState(o.ledger.problem()) };
  if (o.bus) dependencies.nats = busState(o.bus.state());
  for (const [name, { state, detail }] of Object.entries(o.mcp.health())) {
    if (state === 'disabled') continue;
    dependencies[`mcp:${name}`] =
      state === 'ok' ? { state: 'ok' } : { state: 'degraded', detail: `${state}: ${detail}` };
  }
  if (o.stopping) dependencies.gateway = { state: 'down', detail: 'stopping' };
  return readinessFrom(dependencies);
}

/** The tasks that are not over, each with the root of its chain: what they keep on disk stays. */
function unfinishedTasks(
  ledger: Pick<Ledger, 'unfinished'>,
): { readonly id: string; readonly rootId: string }[] {
  return ledger.unfinished().map(({ id, key, dispatch: { task } }) => {
    const root = isJsonObject(task) ? (task.root_id ?? task.task_id) : undefined;
    return { id, rootId: typeof root === 'string' ? root : key };
  });
}
