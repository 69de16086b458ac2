import type { A2AClient } from '@hermes-fleet/a2a';
import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { callerNamed } from '@hermes-fleet/fleet-config';
import type { Ledger, TaskRecord } from '@hermes-fleet/ledger';
import type { McpPool } from '@hermes-fleet/mcp';
import type { Announcer, PeerRegistry, RoutingDecision } from '@hermes-fleet/peers';
import { createRepoWatch, createSelfAnnounce, explainDispatch, routingPolicy } from '@hermes-fleet/peers';
import {
  type Clock,
  type Executor,
  FleetError,
  type Ids,
  type Intake,
  type JsonObject,
  type Log,
  type McpHealth,
  PROTOCOL_VERSIONS,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import { createRelay } from '@hermes-fleet/relay';
import type { FleetMetrics } from '@hermes-fleet/service';
import {
  acceptMessage,
  createDestinations,
  createDispatcher,
  createQuestionWaits,
  createTaskQueue,
  type TaskQueue,
} from '@hermes-fleet/tasks';
import type { PeerWork } from './fleet-tools/peer-work.ts';

const GAUGE_EVERY_MS = 5_000;
/** Of a stop's grace, what a run that did not reach a checkpoint gets to end after it was told to. */
const LAST_CALL_MS = 2_000;

/** What the gateway needs of an agent (libs/agent has it). */
export interface GatewayAgent {
  readonly executor: Executor;
  capabilities(): { readonly tools: readonly string[] };
  repoState(): Promise<{ readonly branch: string; readonly clean: boolean }>;
  /** Tokens below which a task is not started. */
  readonly minimumBudget: number;
}

export interface GatewayOptions {
  readonly profile: string;
  readonly version: string;
  readonly ledger: Ledger;
  readonly agent: GatewayAgent;
  readonly mcp: Pick<McpPool, 'names' | 'health' | 'probe' | 'onChange'>;
  readonly peers: PeerRegistry;
  readonly announcer: Pick<Announcer, 'changed'>;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly config: FleetConfig;
  /** The budget, in tokens, of tasks that state none; without it they have no ceiling. */
  readonly defaultBudget?: number | undefined;
  /** Whether cache reads and writes count as spent (`budget.count_cache`). */
  readonly countCache?: boolean;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** The handshake versions that this profile speaks, best first; all that this build knows when absent. */
  readonly versions?: readonly string[];
}

/** A profile's door and engine: messages in, tasks run or relayed, results in the ledger. */
export interface Gateway extends Intake {
  /** Takes up what a former process left unfinished. To be called once, before the listener opens. */
  recover(): Promise<void>;
  /**
   * Refuses new tasks, lets running ones reach a checkpoint, ends what has not by then, and leaves all that is
   * unfinished to the next start. Resolves when all is quiet or `graceMs` is over.
   */
  stop(graceMs: number): Promise<void>;
  /** Tasks that run, own and relayed. */
  activeTasks(): number;
  /** Tasks that wait, own and relayed. */
  queuedTasks(): number;
  /** This profile's SESSION_ANNOUNCE, from what was measured last. */
  announce(): SessionAnnounce;
  /** The same, with the workspace measured now. */
  freshAnnounce(): Promise<SessionAnnounce>;
  /** Metadata for the reply to a task that opened a fresh context. */
  replyMetadata(taskId: string): JsonObject | undefined;
  /** Where a dispatch, as on the wire, would go now, and why; records nothing and spends no token. */
  explain(wire: JsonObject): Promise<RoutingDecision>;
  /** How a run of its own agent has peers do a part of the work. */
  readonly peerWork: PeerWork;
}

export function createGateway(o: GatewayOptions): Gateway {
  const { ledger, clock, log, metrics, config, profile } = o;
  const { limits, queue } = config.fleet;
  const versions = o.versions ?? PROTOCOL_VERSIONS;
  const closing = new AbortController();
  let stopping: FleetError | undefined;
  let sessionFresh = true;
  let saturated = false;
  let announcedActive = 0;
  let gauges: Disposable | undefined;

  const repo = createRepoWatch({
    measure: () => o.agent.repoState(),
    onChange: () => o.announcer.changed(),
    clock,
    log,
  });
  const questionWaits = createQuestionWaits({ clock, metrics, max: queue.max_waiting });
  const runner = {
    profile,
    versions,
    ledger,
    clock,
    log,
    metrics,
    questionWaits,
    defaultBudget: o.defaultBudget,
    countCache: o.countCache ?? false,
    maxInputWaitMs: limits.max_input_wait_s * 1000,
    closing: closing.signal,
  };
  const relay = createRelay({
    peers: o.peers,
    client: o.client,
    clock,
    log,
    metrics,
    policy: routingPolicy(config, profile, versions),
    onBlocked: config.fleet.routing.on_blocked,
    maxAttempts: config.fleet.routing.max_attempts,
    peerDownAfterMs: config.fleet.routing.peer_down_after_s * 1000,
    maxWaitMs: queue.max_wait_s * 1000,
    maxWaiting: queue.max_waiting,
    ageingMs: queue.ageing_s * 1000,
    random: o.random ?? Math.random,
  });
  const lane = (
    name: string,
    executor: Executor,
    maxConcurrent: number,
    recoversWithoutSlot: boolean,
  ): TaskQueue =>
    createTaskQueue({
      name,
      executor,
      runner,
      clock,
      metrics,
      recoversWithoutSlot,
      onChange: loadChanged,
      limits: { maxConcurrent, depth: limits.queue_depth, ageingMs: queue.ageing_s * 1000 },
      onExpired: (task) => {
        dispatcher
          .expire(task)
          .catch((error) => log.error({ task_id: task.id, err: error }, 'expiry not written'));
      },
    });
  const own = lane('own', o.agent.executor, limits.max_concurrent_tasks, false);
  // What is with a peer has to be ended there; what a peer asks may be over before anybody answers. Asking it costs nothing.
  const relayed = lane('relay', relay, limits.max_relayed_tasks, true);
  const queues = [own, relayed];
  const destinations = createDestinations({
    profile,
    versions,
    config,
    clock,
    peers: o.peers,
    mcp: o.mcp,
    agent: o.agent,
    own,
    relayed,
    repoState: repo.measure,
  });
  const dispatcher = createDispatcher({
    profile,
    versions,
    ledger,
    clock,
    log,
    metrics,
    queues,
    destinationOf: destinations.destinationOf,
    maxInputWaitMs: runner.maxInputWaitMs,
    closing: closing.signal,
  });

  function loadChanged(): void {
    metrics.tasksInFlight(own.running + relayed.running);
    if (own.running > 0) sessionFresh = false;
    // Going idle is news as well: until it is heard, others see the load that was announced last.
    const isIdleAgain = own.running === 0 && announcedActive > 0;
    if (own.full === saturated && !isIdleAgain) return;
    saturated = own.full;
    o.announcer.changed();
  }

  const self = createSelfAnnounce({
    versions,
    ledger,
    instanceId: o.ids.uuid(),
    snapshot() {
      announcedActive = own.running;
      return {
        profile,
        config,
        sessionFresh,
        model: o.agent.executor.model,
        tools: o.agent.capabilities().tools,
        mcpHealth: healthOf(o.mcp),
        repoState: repo.last(),
        activeTasks: own.running,
        queuedTasks: own.waiting,
        ready: stopping === undefined,
        now: clock.now(),
      };
    },
  });

  function gaugeEvery(): void {
    for (const each of [...queues, relay, questionWaits]) each.gauge();
    gauges = clock.timer(gaugeEvery, GAUGE_EVERY_MS);
  }

  function mcpChanged(): void {
    for (const [name, state] of Object.entries(healthOf(o.mcp))) metrics.mcpServerUp(name, state === 'ok');
    o.announcer.changed();
  }

  /** Whether a former process ran some of it; a task that was paused is queued again. */
  const hasBegun = ({ id, state }: TaskRecord): boolean =>
    state === 'working' || ledger.loadCheckpoint(id) !== undefined || ledger.questions(id).length > 0;

  const health = o.mcp.onChange(mcpChanged);
  const intake = {
    profile,
    versions,
    ledger,
    peers: o.peers,
    dispatcher,
    clock,
    ids: o.ids,
    log,
    metrics,
    announce: self.now,
    closed: () => stopping,
    onFreshContext: self.remember,
  };

  return {
    accept: (message, caller) => acceptMessage(intake, message, caller),
    async cancel(taskId, caller) {
      const task = ledger.get(taskId);
      if (!task || task.caller !== caller.name)
        throw new FleetError('TASK_NOT_FOUND', `task ${taskId} is not known`);
      await dispatcher.cancel(taskId);
    },
    async recover() {
      await repo.measure();
      repo.start();
      mcpChanged();
      gaugeEvery();
      // What had begun goes on first: no other task of its context gets into the worktree between its halves.
      const { begun = [], waiting = [] } = Object.groupBy(ledger.unfinished(), (task) =>
        hasBegun(task) ? 'begun' : 'waiting',
      );
      for (const task of [...begun, ...waiting])
        await dispatcher.resume(task, callerNamed(config, task.caller));
    },
    async stop(graceMs) {
      stopping = new FleetError('SHUTTING_DOWN', `${profile} is stopping: send the task again in a moment`, {
        retryAfterS: 5,
      });
      const reason = stopping;
      health[Symbol.dispose]();
      repo.stop();
      gauges?.[Symbol.dispose]();
      const patience = new AbortController();
      using _last = clock.timer(() => patience.abort(reason), Math.max(graceMs - LAST_CALL_MS, graceMs / 2));
      // What a peer works on goes on there: a relayed task is let go at once.
      const now = AbortSignal.abort(reason);
      const quiet = Promise.all([
        own.stop(reason, patience.signal),
        relayed.stop(reason, now),
        dispatcher.idle(),
      ]);
      const grace = new AbortController();
      const over = clock.sleep(graceMs, grace.signal).then(
        () =>
          log.warn(
            { active: own.running + relayed.running },
            'grace is over: running tasks are left as they are',
          ),
        () => undefined,
      );
      await Promise.race([quiet, over]);
      grace.abort();
      closing.abort(reason);
    },
    activeTasks: () => own.running + relayed.running,
    queuedTasks: () => own.waiting + relayed.waiting + own.parked + relayed.parked,
    announce: self.now,
    async freshAnnounce() {
      await repo.measureQuietly();
      return self.now();
    },
    replyMetadata: self.metadataFor,
    explain: (wire) =>
      explainDispatch({ profile, versions, judge: destinations.checkNow, decide: destinations.decide }, wire),
    peerWork: { run: relay.run, judge: destinations.checkRelayed, decide: destinations.decide },
  };
}

function healthOf(mcp: Pick<McpPool, 'health'>): Record<string, McpHealth> {
  return Object.fromEntries(Object.entries(mcp.health()).map(([name, { state }]) => [name, state]));
}
