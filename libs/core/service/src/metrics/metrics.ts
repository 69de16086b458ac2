import { UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { Count } from '@hermes-fleet/protocol/ports';
import { Registry } from 'prom-client';
import { registerFamilies } from './families.ts';
import {
  COMPACTIONS,
  METHODS,
  MODEL_CALLS,
  NO_TIER,
  OVERRUNS,
  PUSH_RESULTS,
  RESULTS,
  RETRIES,
  STATUSES,
  TOKEN_TYPES,
} from './known-labels.ts';
import { startKnownSeries } from './known-series.ts';
import { allowList, bounded, OTHER } from './labels.ts';
import { collectNodeMetrics } from './node-metrics.ts';

/**
 * The metrics of a process (docs/metrics.md). Recorders never throw: an amount that is not a positive finite number
 * adds nothing, a gauge or duration that is not a finite number changes nothing, and a label value outside its bounds
 * becomes `other`.
 */
export interface FleetMetrics {
  readonly registry: Registry;
  /** Adds to the counters that continue after a restart: the increments, and at a start the totals, of the ledger. */
  count(counts: readonly Count[]): void;
  /** `ratio` is metered over estimated input tokens of one call. */
  tokenDrift(tier: string, ratio: number): void;
  /** A task that ran has ended. `run` is from the start of its run, `total` from its acceptance, s. */
  taskTook(tier: string, status: string, took: { readonly run: number; readonly total: number }): void;
  tasksInFlight(count: number): void;
  /** The tokens of the day of a configured caller; undefined for the profile's own model calls. */
  spending(
    caller: string | undefined,
    figures: { readonly limit: number | undefined; readonly spent: number; readonly reserved: number },
  ): void;
  taskTreeCeiling(tokens: number): void;
  dispatchOverhead(seconds: number): void;
  announce(peer: string, direction: 'in' | 'out', result: string): void;
  peerLastAnnounce(peer: string, epochSeconds: number): void;
  mcpServerUp(server: string, up: boolean): void;
  modelHealthy(model: string, healthy: boolean): void;
  /** Replaces the dependencies that are shown; called by createApp at each scrape. */
  dependencies(up: Readonly<Record<string, boolean>>): void;
  mcpOperation(server: string, method: string, outcome: string, seconds: number): void;
  queueDepth(queue: string, count: number): void;
  queueOldestAge(queue: string, seconds: number): void;
  retry(reason: string): void;
  reroute(from: string, to: string, reason: string): void;
  budgetOverrun(action: string): void;
  guard(guard: string, level: string): void;
  /** A conversation of the agent was made shorter. */
  compaction(stage: string): void;
  /** A call of the agent's model has ended; `firstTokenSeconds` is undefined when no token came. */
  modelCall(call: {
    readonly outcome: string;
    readonly seconds: number;
    readonly firstTokenSeconds: number | undefined;
  }): void;
  /** `ok` is the outcome that the model saw. */
  toolCall(tool: string, ok: boolean): void;
  resumed(): void;
  eventPublished(result: string): void;
  /** An attempt to deliver a push notification: `ok`, `error`, or `given_up` for the last one of a config. */
  pushAttempt(result: string): void;
  outbox(backlog: { readonly count: number; readonly oldestAgeS: number; readonly missing?: number }): void;
  /** `route` is the pattern of the route, never the URL. Called by createApp. */
  httpRequest(method: string, route: string, status: number, seconds: number): void;
}

export interface MetricsOptions {
  readonly profile: string;
  /** The peers that may be label values; others become `other`. */
  readonly peers: readonly string[];
  /** The callers that may be label values; others become `other`. */
  readonly callers: readonly string[];
  /** The model tiers of the fleet; default: `haiku`, `sonnet`, `opus`. */
  readonly tiers?: readonly string[];
  /** Includes Node's own metrics; default: true. */
  readonly defaultMetrics?: boolean;
}

const OF_ALL = {
  profile: { scope: 'profile', caller: 'all' },
  taskTree: { scope: 'task_tree', caller: 'all' },
};

/** The metric families of a profile on their own registry. Known label sets start at 0. */
export function createMetrics({
  profile,
  peers,
  callers,
  tiers = ['haiku', 'sonnet', 'opus'],
  defaultMetrics = true,
}: MetricsOptions): FleetMetrics {
  const registry = new Registry();
  if (defaultMetrics) collectNodeMetrics(registry);
  const families = registerFamilies(registry);

  const label = {
    caller: allowList(callers),
    peer: allowList(peers),
    hop: allowList([...peers, profile]),
    httpMethod: allowList(METHODS),
    tier: bounded(16, [...tiers, NO_TIER]),
    status: bounded(16, STATUSES),
    decision: allowList(['accepted', 'blocked']),
    direction: allowList(TOKEN_TYPES),
    blocked: bounded(32, UnmetKind.options),
    refused: bounded(32, UnmetKind.options),
    result: bounded(8, RESULTS),
    announced: bounded(8, RESULTS),
    pushed: allowList(PUSH_RESULTS),
    server: bounded(32),
    model: bounded(4),
    dependency: bounded(128),
    operation: bounded(8),
    outcome: bounded(4),
    queue: bounded(16),
    retried: bounded(32, RETRIES),
    rerouted: bounded(8),
    action: bounded(16, OVERRUNS),
    guard: bounded(16),
    compaction: allowList(COMPACTIONS),
    modelCall: allowList(MODEL_CALLS),
    tool: bounded(128),
    level: bounded(4),
    route: bounded(64),
  };

  startKnownSeries(families, { profile, peers, callers, tiers });

  const add: Readonly<Record<Count['counter'], (by: number, ...labels: string[]) => void>> = {
    tasks: (by, tier = '', status = '') =>
      families.tasks.inc({ profile, model_tier: label.tier(tier), status: label.status(status) }, by),
    admissions(by, decision = '', reason = '') {
      const word = decision === 'accepted' ? 'none' : label.blocked(reason);
      families.admissions.inc({ profile, decision: label.decision(decision), reason: word }, by);
    },
    peer_refusals: (by, kind = '') => families.peerRefusals.inc({ kind: label.refused(kind) }, by),
    tokens_saved: (by) => families.tokensSaved.inc(by),
    tokens_spent: (by, caller = '', tier = '', type = '') =>
      families.tokensSpent.inc(
        { profile, caller: label.caller(caller), model_tier: label.tier(tier), type: label.direction(type) },
        by,
      ),
    tokens_cached: (by) => families.tokensCached.inc(by),
  };

  return {
    registry,
    count(counts) {
      for (const { counter, labels, by } of counts) if (adds(by)) add[counter](by, ...labels);
    },
    tokenDrift(tier, ratio) {
      if (measures(ratio)) families.tokenDrift.observe({ profile, model_tier: label.tier(tier) }, ratio);
    },
    taskTook(tier, status, took) {
      const labels = { profile, model_tier: label.tier(tier), status: label.status(status) };
      if (measures(took.run)) families.taskDuration.observe(labels, took.run);
      if (measures(took.total)) families.taskTurnaround.observe(labels, took.total);
    },
    tasksInFlight(count) {
      if (measures(count)) families.tasksInFlight.set(count);
    },
    spending(caller, { limit, spent, reserved }) {
      const labels =
        caller === undefined ? OF_ALL.profile : { scope: 'caller', caller: label.caller(caller) };
      if (labels.caller === OTHER) return;
      if (limit !== undefined && measures(limit)) families.spendingCeiling.set(labels, limit);
      if (measures(spent)) families.spendingSpent.set(labels, spent);
      if (measures(reserved)) families.spendingReserved.set(labels, reserved);
    },
    taskTreeCeiling(tokens) {
      if (measures(tokens)) families.spendingCeiling.set(OF_ALL.taskTree, tokens);
    },
    dispatchOverhead(seconds) {
      if (measures(seconds)) families.dispatchOverhead.observe(seconds);
    },
    announce(peer, direction, result) {
      families.announces.inc({ peer: label.peer(peer), direction, result: label.announced(result) });
    },
    peerLastAnnounce(peer, epochSeconds) {
      if (measures(epochSeconds)) families.peerLastAnnounce.set({ peer: label.peer(peer) }, epochSeconds);
    },
    mcpServerUp(server, up) {
      families.mcpServerUp.set({ server: label.server(server) }, up ? 1 : 0);
    },
    modelHealthy(model, healthy) {
      families.modelHealthy.set({ model: label.model(model) }, healthy ? 1 : 0);
    },
    dependencies(up) {
      families.dependencyUp.reset();
      for (const [name, isUp] of Object.entries(up))
        families.dependencyUp.set({ dependency: label.dependency(name) }, isUp ? 1 : 0);
    },
    mcpOperation(server, method, outcome, seconds) {
      const labels = {
        server: label.server(server),
        method: label.operation(method),
        outcome: label.outcome(outcome),
      };
      if (measures(seconds)) families.mcpOperation.observe(labels, seconds);
    },
    queueDepth(queue, count) {
      if (measures(count)) families.queueDepth.set({ queue: label.queue(queue) }, count);
    },
    queueOldestAge(queue, seconds) {
      if (measures(seconds)) families.queueOldestAge.set({ queue: label.queue(queue) }, seconds);
    },
    retry(reason) {
      families.retries.inc({ reason: label.retried(reason) });
    },
    reroute(from, to, reason) {
      families.reroutes.inc({ from: label.hop(from), to: label.hop(to), reason: label.rerouted(reason) });
    },
    budgetOverrun(action) {
      families.budgetOverruns.inc({ action: label.action(action) });
    },
    guard(guard, level) {
      families.guards.inc({ guard: label.guard(guard), level: label.level(level) });
    },
    compaction(stage) {
      families.compactions.inc({ stage: label.compaction(stage) });
    },
    modelCall({ outcome, seconds, firstTokenSeconds }) {
      if (measures(seconds)) families.modelCall.observe({ outcome: label.modelCall(outcome) }, seconds);
      if (firstTokenSeconds !== undefined && measures(firstTokenSeconds))
        families.modelFirstToken.observe(firstTokenSeconds);
    },
    toolCall(tool, ok) {
      families.toolCalls.inc({ tool: label.tool(tool), result: ok ? 'ok' : 'error' });
    },
    resumed() {
      families.resumes.inc();
    },
    eventPublished(result) {
      families.eventsPublished.inc({ result: label.result(result) });
    },
    pushAttempt(result) {
      families.pushAttempts.inc({ result: label.pushed(result) });
    },
    outbox({ count, oldestAgeS, missing = 0 }) {
      families.outboxMissing.set(missing);
      if (measures(count)) families.outboxBacklog.set(count);
      if (measures(oldestAgeS)) families.outboxOldestAge.set(oldestAgeS);
    },
    httpRequest(method, route, status, seconds) {
      const labels = { method: label.httpMethod(method), route: label.route(route) };
      families.httpRequests.inc({ ...labels, status });
      if (measures(seconds)) families.httpDuration.observe(labels, seconds);
    },
  };
}

const adds = (amount: number): boolean => amount > 0 && Number.isFinite(amount);
const measures = (value: number): boolean => value >= 0 && Number.isFinite(value);
