import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createA2AClient, registerA2A } from '@hermes-fleet/a2a';
import { createGateway, registerFleetRoutes } from '@hermes-fleet/fleet';
import { callerNamed } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import {
  cardOf,
  connectAnnounces,
  connectBus,
  EXTENSIONS,
  listen,
  type MemberEnvironment,
  startBacklogGauge,
  startRetention,
  version,
} from '@hermes-fleet/member';
import type { Runtime } from '@hermes-fleet/paper';
import { createRuntime } from '@hermes-fleet/paper';
import { createAnnouncer, createPeerRegistry, recordAnnounceOf } from '@hermes-fleet/peers';
import { systemClock as clock, HANDSHAKE_EXTENSION, systemIds as ids } from '@hermes-fleet/protocol';
import {
  createApp,
  createAuthenticator,
  createLogger,
  createMetrics,
  createSecretEnv,
  onShutdown,
} from '@hermes-fleet/service';
import { acquireOwnership } from '@hermes-fleet/store';
import { NO_AGENT, NO_MCP } from './agent.ts';
import { runtimeConcerns, settingsOf } from './config/settings.ts';
import { readConfiguration } from './configuration.ts';
import { DECIDE } from './control/access.ts';
import { createDecisionService } from './control/create-decision-service.ts';
import { connectControlBus } from './control-bus.ts';
import { createTraderMetrics } from './metrics.ts';
import { readinessOf } from './readiness.ts';
import { shutdownSteps } from './shutdown-steps.ts';
import { openControlStore } from './store/sqlite-store.ts';
import { createControlIntake } from './transports/a2a.ts';
import { isControlDecision } from './transports/control-part.ts';
import { registerMcp } from './transports/mcp.ts';
import { auditRefusals } from './transports/refusals.ts';
import { controlMethods } from './transports/rpc.ts';

/** Largest request body (docs/trader.md#security). */
const BODY_LIMIT_BYTES = 16_384;
/** Part of the shutdown time that is reserved for the steps after the tasks. */
const AFTER_TASKS_MS = 10_000;
/** A failed start has no tasks to finish, so its gateway gets only a short time to stop. */
const FAILED_START_GRACE_MS = 2_000;

/**
 * Starts the trader and opens its listener last. Resolves when the trader serves requests, or when it was told to stop
 * before. A failed start releases every resource, including the listener and the ownership lock.
 */
export async function startTrader(
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
): Promise<void> {
  const { name } = environment;
  const log = createLogger({ name, level: environment.logLevel });
  const configuration = readConfiguration(environment, createSecretEnv(processEnv), clock, processEnv);
  const { fleet: config, credentials, trader } = configuration;
  const { server, nats } = config.fleet;
  if (!config.fleet.enabled || !server) {
    log.info({ profile: name }, 'fleet.enabled is false: the trader serves nothing');
    return;
  }
  for (const note of configuration.notes) log.info({ profile: name }, note);
  for (const warning of configuration.warnings) log.warn({ profile: name }, warning);
  const settings = settingsOf(trader);

  mkdirSync(environment.stateDir, { recursive: true, mode: 0o700 });
  await using failed = new AsyncDisposableStack();
  const ownership = failed.use(acquireOwnership({ dir: environment.stateDir, profile: name }));
  const fileOf = (file: string): string => join(environment.stateDir, file);
  const ledger = failed.adopt(
    openLedger({ file: fileOf('ledger.db'), profile: name, clock, ids, log }),
    (opened) => opened.close(),
  );
  const store = failed.adopt(
    openControlStore({ file: fileOf('control.db'), service: name, clock, ids, log }),
    (opened) => opened.close(),
  );
  await store.seed(settings.strategies, settings.concerns);
  const concerns = store.concerns().map(({ id }) => id);

  const metrics = createMetrics({
    profile: name,
    peers: Object.keys(credentials.peers),
    callers: credentials.callers.map((caller) => caller.name),
    tiers: config.fleet.tiers,
  });
  const shown: Pick<Runtime, 'view' | 'health'> = {
    view: (concern) => runtime.view(concern),
    health: (concern) => runtime.health(concern),
  };
  const watchers = createTraderMetrics({
    registry: metrics.registry,
    store,
    runtime: shown,
    concerns: settings.concerns,
    strategies: settings.strategies,
  });
  const bus = connectBus({ profile: name, config, login: credentials.bus, ledger, clock, log, metrics });
  failed.defer(async () => bus?.close());
  const controlBus = connectControlBus({
    service: name,
    nats,
    login: credentials.bus,
    store,
    clock,
    log,
    metrics: { eventPublished: metrics.eventPublished, auditOk: watchers.auditOk },
  });
  failed.defer(() => controlBus.close());
  const outboxes = nats ? [ledger.outbox, store.outbox] : [];
  const backlog = failed.use(startBacklogGauge({ outboxes, clock, log, metrics }));

  const runtime = createRuntime({
    store,
    clock,
    log,
    watcher: watchers.runtime,
    concerns: runtimeConcerns(trader, configuration.feeds),
  });
  failed.defer(() => runtime.close());
  const { policy, access, limits } = settings;
  const desk = createDecisionService({
    store,
    runtime,
    policy,
    access,
    limits,
    clock,
    log,
    watcher: watchers.decisions,
  });
  failed.defer(() => desk.close());

  const client = createA2AClient({ clock, log, extensions: [HANDSHAKE_EXTENSION] });
  const peers = createPeerRegistry({
    ledger,
    configured: credentials.peers,
    join: credentials.join,
    clock,
    log,
    self: name,
  });
  const announces = connectAnnounces({
    profile: name,
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
    profile: name,
    version,
    ledger,
    agent: NO_AGENT,
    mcp: NO_MCP,
    peers,
    announcer,
    client,
    clock,
    ids,
    log,
    metrics,
    config,
  });
  failed.defer(() => gateway.stop(FAILED_START_GRACE_MS));
  const intake = createControlIntake({
    decisions: desk,
    ledger,
    gateway,
    clock,
    ids,
    log,
    callerNamed: (caller) => callerNamed(config, caller),
  });
  failed.defer(() => intake.close());

  const stopping = new AbortController();
  const app = createApp({
    name,
    version,
    log,
    metrics,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    authenticate: server.auth_required ? createAuthenticator(credentials.callers) : undefined,
    readiness: () =>
      readinessOf({
        ledger,
        store,
        relays: [bus, controlBus.relay],
        audit: controlBus.audit(),
        runtime,
        concerns,
        stopping: stopping.signal.aborted,
      }),
  });
  const a2a = registerA2A(app, {
    ledger,
    intake,
    log,
    clock,
    replyMetadata: gateway.replyMetadata,
    extensions: EXTENSIONS.map(({ uri }) => uri),
    card: (request) => cardOf(server, configuration.identity, request),
    methods: controlMethods(desk),
    sendScopes: [DECIDE],
    readsText: isControlDecision,
    onRefused: auditRefusals(desk),
  });
  registerMcp(app, { decisions: desk, name, version });
  registerFleetRoutes(app, { profile: name, peers, gateway, ledger, clock, countCache: false });

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
    intake,
    desk,
    runtime,
    bus,
    controlBus,
    backlog,
    ledger,
    store,
    ownership,
  };
  const signals = onShutdown({
    log,
    graceMs: graceMs + AFTER_TASKS_MS,
    steps: shutdownSteps(opened, () => stopping.abort(), graceMs),
  });
  const { signal } = stopping;
  try {
    await desk.recover();
    // Control tasks first: the gateway does not know them and would block them.
    await intake.recover();
    await gateway.recover();
    if (!signal.aborted) {
      runtime.start();
      await listen(app, name, server);
    }
  } catch (error) {
    if (!signal.aborted) {
      signals[Symbol.dispose]();
      throw error;
    }
  }
  // From now on the shutdown, which may already run, owns the resources.
  failed.move();
  if (!signal.aborted) announcer.start();
}
