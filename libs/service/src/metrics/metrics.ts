import { ResultStatus, UnmetKind } from '@hermes-fleet/protocol';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { registerFamilies } from './families.ts';
import { allowList, bounded, OTHER } from './labels.ts';

/**
 * The metrics of a process (docs/metrics.md). Recorders never throw: an amount that is not a positive finite number
 * adds nothing, a gauge or duration that is not a finite number changes nothing, and a label value outside its bounds
 * becomes `other`.
 */
export interface FleetMetrics {
  readonly registry: Registry;
  tokensSpent(
    caller: string,
    tier: string,
    tokens: { readonly input: number; readonly output: number },
  ): void;
  tokensCached(tokens: number): void;
  /** `ratio` is metered over estimated input tokens of one call. */
  tokenDrift(tier: string, ratio: number): void;
  /** The decision about a task that entered here. `reason` is a word, such as an `unmet` kind; `none` if accepted. */
  admission(decision: 'accepted' | 'blocked', reason: string): void;
  /** A task that a peer sent on was refused; `kind` is an `unmet` kind. */
  peerRefusal(kind: string): void;
  /** `took` is undefined for a task that never ran. `run` is from the start of its run, `total` from its acceptance, s. */
  taskEnded(
    tier: string,
    status: string,
    took: { readonly run: number; readonly total: number } | undefined,
  ): void;
  tasksInFlight(count: number): void;
  tokensSaved(tokens: number): void;
  dispatchOverhead(seconds: number): void;
  announce(peer: string, direction: 'in' | 'out', result: string): void;
  peerLastAnnounce(peer: string, epochSeconds: number): void;
  mcpServerUp(server: string, up: boolean): void;
  mcpOperation(server: string, method: string, outcome: string, seconds: number): void;
  queueDepth(queue: string, count: number): void;
  queueOldestAge(queue: string, seconds: number): void;
  retry(reason: string): void;
  reroute(from: string, to: string, reason: string): void;
  budgetOverrun(action: string): void;
  guard(guard: string, level: string): void;
  /** `ok` is the outcome that the model saw. */
  toolCall(tool: string, ok: boolean): void;
  resumed(): void;
  eventPublished(result: string): void;
  outbox(backlog: { readonly count: number; readonly oldestAgeS: number }): void;
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

/** The tier of tasks that are relayed, and of tasks that no model of the profile could take. */
const NO_TIER = 'none';
/** Gauges of prom-client with the ending of a counter; their counterparts without it have the same values by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const STATUSES = [...ResultStatus.options, 'canceled'];
const RESULTS = ['ok', 'error'];

/** The metric families of a profile on their own registry. Known label sets start at 0. */
export function createMetrics({
  profile,
  peers,
  callers,
  tiers = ['haiku', 'sonnet', 'opus'],
  defaultMetrics = true,
}: MetricsOptions): FleetMetrics {
  const registry = new Registry();
  if (defaultMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  const families = registerFamilies(registry);

  const label = {
    caller: allowList(callers),
    peer: allowList(peers),
    hop: allowList([...peers, profile]),
    httpMethod: allowList(METHODS),
    tier: bounded(16, [...tiers, NO_TIER]),
    status: bounded(16, STATUSES),
    blocked: bounded(32, UnmetKind.options),
    refused: bounded(32, UnmetKind.options),
    result: bounded(8, RESULTS),
    announced: bounded(8, RESULTS),
    server: bounded(32),
    operation: bounded(8),
    outcome: bounded(4),
    queue: bounded(16),
    retried: bounded(32),
    rerouted: bounded(8),
    action: bounded(16),
    guard: bounded(16),
    tool: bounded(128),
    level: bounded(4),
    route: bounded(64),
  };

  for (const caller of new Set([...callers, OTHER])) {
    for (const model_tier of tiers) {
      for (const type of ['input', 'output'])
        families.tokensSpent.inc({ profile, caller, model_tier, type }, 0);
    }
  }
  for (const model_tier of tiers) families.tokenDrift.zero({ profile, model_tier });
  for (const model_tier of new Set([...tiers, NO_TIER])) {
    for (const status of STATUSES) {
      families.tasks.inc({ profile, model_tier, status }, 0);
      families.taskDuration.zero({ profile, model_tier, status });
      families.taskTurnaround.zero({ profile, model_tier, status });
    }
  }
  families.admissions.inc({ profile, decision: 'accepted', reason: 'none' }, 0);
  for (const reason of UnmetKind.options)
    families.admissions.inc({ profile, decision: 'blocked', reason }, 0);
  for (const kind of UnmetKind.options) families.peerRefusals.inc({ kind }, 0);
  for (const peer of peers) {
    families.peerLastAnnounce.set({ peer }, 0);
    for (const direction of ['in', 'out']) {
      for (const result of RESULTS) families.announces.inc({ peer, direction, result }, 0);
    }
  }
  for (const result of RESULTS) families.eventsPublished.inc({ result }, 0);

  return {
    registry,
    tokensSpent(caller, tier, { input, output }) {
      const labels = { profile, caller: label.caller(caller), model_tier: label.tier(tier) };
      if (adds(input)) families.tokensSpent.inc({ ...labels, type: 'input' }, input);
      if (adds(output)) families.tokensSpent.inc({ ...labels, type: 'output' }, output);
    },
    tokensCached(tokens) {
      if (adds(tokens)) families.tokensCached.inc(tokens);
    },
    tokenDrift(tier, ratio) {
      if (measures(ratio)) families.tokenDrift.observe({ profile, model_tier: label.tier(tier) }, ratio);
    },
    admission(decision, reason) {
      const word = decision === 'accepted' ? 'none' : label.blocked(reason);
      families.admissions.inc({ profile, decision, reason: word });
    },
    peerRefusal(kind) {
      families.peerRefusals.inc({ kind: label.refused(kind) });
    },
    taskEnded(tier, status, took) {
      const labels = { profile, model_tier: label.tier(tier), status: label.status(status) };
      families.tasks.inc(labels);
      if (!took) return;
      if (measures(took.run)) families.taskDuration.observe(labels, took.run);
      if (measures(took.total)) families.taskTurnaround.observe(labels, took.total);
    },
    tasksInFlight(count) {
      if (measures(count)) families.tasksInFlight.set(count);
    },
    tokensSaved(tokens) {
      if (adds(tokens)) families.tokensSaved.inc(tokens);
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
    toolCall(tool, ok) {
      families.toolCalls.inc({ tool: label.tool(tool), result: ok ? 'ok' : 'error' });
    },
    resumed() {
      families.resumes.inc();
    },
    eventPublished(result) {
      families.eventsPublished.inc({ result: label.result(result) });
    },
    outbox({ count, oldestAgeS }) {
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
