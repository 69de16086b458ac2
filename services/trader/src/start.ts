import { join } from 'node:path';
import { callerNamed } from '@hermes-fleet/fleet-config';
import {
  connectBus,
  createMemberGateway,
  createMemberPeers,
  type MemberEnvironment,
  openMember,
  openMemberTracing,
  readBacklog,
  serveMember,
} from '@hermes-fleet/gateway/member';
import { createRuntime, type Runtime } from '@hermes-fleet/market';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { createLogger, createSecretEnv, type Host } from '@hermes-fleet/service';
import type { AuditState } from './audit-heads.ts';
import { registerAudit } from './audit-routes.ts';
import { spacingOf } from './books/analysis.ts';
import { createBookKeeper, keepingBooks } from './books/book-keeper.ts';
import { registerReset } from './books/reset-route.ts';
import { registerBooks } from './books/routes.ts';
import { createSummary } from './books/summary.ts';
import { createBreakers } from './breakers/breakers.ts';
import { runtimeConcerns, settingsOf } from './config/settings.ts';
import { readConfiguration } from './configuration.ts';
import { DECIDE } from './control/access.ts';
import { createDecisionService } from './control/create-decision-service.ts';
import { connectControlBus } from './control-bus.ts';
import { createTraderMetrics } from './metrics.ts';
import { NO_AGENT, NO_MCP } from './no-agent.ts';
import { readinessOf } from './readiness.ts';
import { shutdownSteps } from './shutdown-steps.ts';
import { keepingChanged, markingSaves } from './store/engine-saves.ts';
import { openHoldMarks } from './store/hold-files.ts';
import { openControlStore } from './store/sqlite-store.ts';
import { createControlIntake } from './transports/a2a.ts';
import { isControlDecision } from './transports/control-part.ts';
import { registerMcp } from './transports/mcp.ts';
import { auditRefusals } from './transports/refusals.ts';
import { controlMethods } from './transports/rpc.ts';

/** The maximum request body (docs/trader.md#security). */
const BODY_LIMIT_BYTES = 16_384;
/** The part of the shutdown time for everything but tasks. */
const AFTER_TASKS_MS = 10_000;
/** A start waits at most this long for the verification of the audit, which goes on in the background. */
const AUDIT_MS = 3_000;

/**
 * Starts the trader: configuration, ownership, ledger and control store, bus, runtime, decision service, gateway, and the
 * listener last (docs/architecture.md). Resolves when the trader serves, or when it was told to stop before. A start that
 * throws leaves no listener and no lock behind.
 */
export async function startTrader(
  environment: MemberEnvironment,
  processEnv: NodeJS.ProcessEnv,
  host: Host = {},
): Promise<void> {
  const log = createLogger({ name: environment.name, level: environment.logLevel, stream: host.output });
  const configuration = readConfiguration(environment, createSecretEnv(processEnv), clock, processEnv);

  await using opened = new AsyncDisposableStack();
  const tracing = await openMemberTracing(environment.name, processEnv, log, opened);
  const disabled = 'the trader serves nothing';
  const member = openMember(environment, configuration, { log, tracing, disabled }, opened);
  if (!member) return;
  const { profile: name, version, config, credentials, ids, ledger } = member;
  const { nats } = config.fleet;
  const settings = settingsOf(configuration.trader);
  const { policy, access, limits, verifyEveryMs, strategies, concerns } = settings;
  const store = opened.adopt(
    openControlStore({ file: join(environment.stateDir, 'control.db'), service: name, clock, ids, log }),
    (open) => open.close(),
  );
  await store.seed(strategies, concerns);
  const concernIds = store.concerns().map(({ id }) => id);
  const changed = new Set(store.unsoundEngines());
  if (changed.size > 0) log.error({ concerns: [...changed] }, 'engines were changed, and do not start');
  const marks = openHoldMarks({ dir: join(environment.stateDir, 'holds'), concernIds, log });

  const shown: Pick<Runtime, 'view' | 'health'> = {
    view: (concern) => runtime.view(concern),
    health: (concern) => runtime.health(concern),
  };
  const runtimes = runtimeConcerns(configuration.trader, configuration.feeds);
  const keeper = createBookKeeper({
    books: store.books,
    concerns: runtimes.map(({ id, feed }) => ({ id, intervalMs: spacingOf(feed) })),
    clock,
    log,
    // Called when the decision service is made: no bar is read before.
    onBar: (...bar) => breakers.bar(...bar),
  });
  opened.defer(() => keeper.close());
  const { registry } = member.metrics;
  const metrics = createTraderMetrics({ registry, store, runtime: shown, keeper, concerns, strategies });
  const bus = connectBus({ ...member, login: credentials.bus });
  opened.defer(async () => bus?.close());
  /** The engines follow the audit once they have the stored state. */
  let onAudit: (state: AuditState) => void = () => undefined;
  let areBooksRead = false;
  const controlBus = connectControlBus({
    service: name,
    nats,
    login: credentials.bus,
    store,
    clock,
    log,
    tracing,
    metrics: member.metrics,
    verifyEveryMs,
    onAudit: (state) => {
      if (state.state !== 'unknown') metrics.set('fleet_trader_audit_ok', {}, state.state === 'ok');
      onAudit(state);
    },
  });
  opened.defer(() => controlBus.close());
  const outboxes = nats ? [ledger.outbox, store.outbox] : [];
  readBacklog(member.metrics, outboxes, [bus, controlBus.relay]);

  const runtime = createRuntime({
    store: keepingChanged(keepingBooks(markingSaves(store, marks), keeper), changed),
    clock,
    log,
    watcher: metrics.watcher,
    concerns: runtimes,
  });
  opened.defer(() => runtime.close());
  const decisions = createDecisionService({
    store,
    runtime,
    marks,
    policy,
    access,
    limits,
    brokenAudit: () => controlBus.audit.state().finding?.reason,
    performanceOf: createSummary(keeper),
    clock,
    log,
    tracing,
    metrics,
  });
  opened.defer(() => decisions.close());
  const breakers = createBreakers({
    ...settings.breakers,
    store,
    decide: decisions.decide,
    clock,
    ids,
    log,
    isUnsaved: (concern) => runtime.health(concern).unsaved !== undefined,
    onTrip: (concern, breaker) => metrics.add('fleet_trader_breaker_trips_total', { concern, breaker }),
  });
  opened.defer(() => breakers.close());

  const fleet = createMemberGateway(
    member,
    createMemberPeers(member),
    { agent: NO_AGENT, mcp: NO_MCP },
    opened,
  );
  const { gateway } = fleet;
  const intake = createControlIntake({
    decisions,
    ledger,
    gateway,
    clock,
    ids,
    log,
    callerNamed: (caller) => callerNamed(config, caller),
  });
  opened.defer(() => intake.close());

  const relays = [bus, controlBus.relay];
  await serveMember(
    member,
    fleet,
    {
      host,
      intake,
      a2a: {
        methods: controlMethods(decisions),
        sendScopes: [DECIDE],
        readsText: isControlDecision,
        onRefused: auditRefusals(decisions),
      },
      routes: (app) => {
        registerMcp(app, { decisions, name, version, publicUrl: member.server.public_url });
        registerBooks(app, { store, books: store.books, keeper, access });
        registerReset(app, { store, runtime, access });
        registerAudit(app, { audit: controlBus.audit, access });
      },
      bodyLimitBytes: BODY_LIMIT_BYTES,
      countCache: false,
      readiness: (stopping) =>
        readinessOf({
          ledger,
          store,
          relays,
          audit: controlBus.audit.state(),
          runtime,
          books: keeper,
          concerns: concernIds,
          stopping,
        }),
      async recover() {
        // A hold takes entries out of the market, so a start waits a little for a result rather than hold its engines.
        await controlBus.audit.settle(AUDIT_MS);
        onAudit = (state) => {
          holdForAudit(runtime, concernIds, state);
          // A changed engine starts once an operator has accepted it.
          if (state.state === 'ok') changed.clear();
          if (areBooksRead) runtime.start(concernIds.filter((id) => !changed.has(id)));
        };
        onAudit(controlBus.audit.state());
        await decisions.recover();
        // Control tasks first: the gateway does not know them and would block them as ordinary tasks.
        await intake.recover();
        await gateway.recover();
      },
      // An engine whose books are not read could pass the limits of a circuit breaker.
      beforeListen: () =>
        keeper.start(() => {
          runtime.start(concernIds.filter((id) => !changed.has(id)));
          breakers.start();
          areBooksRead = true;
        }),
      shutdownSteps: (serving, leave, graceMs) => {
        const parts = { intake, decisions, books: keeper, breakers, runtime, bus, controlBus, store };
        return shutdownSteps({ ...serving, ...parts }, leave, graceMs);
      },
      afterTasksMs: AFTER_TASKS_MS,
    },
    opened,
  );
}

/** Lets no engine enter a position while the audit is broken, or not verified yet; exits go on. */
function holdForAudit(
  runtime: Pick<Runtime, 'setHold'>,
  concernIds: readonly string[],
  { mayEnter, detail = 'it is not verified yet' }: AuditState,
): void {
  const held = mayEnter ? undefined : ({ runState: 'paused', reason: `audit: ${detail}` } as const);
  for (const concernId of concernIds) runtime.setHold(concernId, 'audit', held);
}
