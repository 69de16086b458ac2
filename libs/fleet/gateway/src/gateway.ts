import { callerNamed } from '@hermes-fleet/fleet-config';
import type { TaskRecord } from '@hermes-fleet/ledger';
import {
  createRepoWatch,
  createSelfAnnounce,
  explainDispatch,
  type RoutingDecision,
} from '@hermes-fleet/peers';
import { FleetError, type JsonObject, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { type Intake, taskFields } from '@hermes-fleet/protocol/ports';
import { createGivenUpTasks } from '@hermes-fleet/relay';
import {
  acceptMessage,
  createDestinations,
  createDispatcher,
  createQuestionWaits,
  type Dispatcher,
  ownTask,
  type TaskQueue,
} from '@hermes-fleet/tasks';
import { createCheckouts } from './checkouts/checkouts.ts';
import { type ContextDeletions, createContextDeletions } from './contexts/context-deletions.ts';
import type { SubtaskRunner } from './fleet-tools/subtask.ts';
import { followFigures } from './gateway-figures.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { watchHealth } from './health-watch.ts';
import { createQueues } from './queues.ts';
import { createResults } from './results/results.ts';

export type Gateway = ReturnType<typeof createGateway>;

/** Accepts messages, runs or relays their tasks, and writes the results to the ledger. */
export function createGateway(options: GatewayOptions) {
  const { ledger, clock, ids, log, metrics, config, profile, agent, mcp, peers, announcer, client } = options;
  const { limits, queue } = config.fleet;
  const versions = options.versions ?? PROTOCOL_VERSIONS;
  const closing = new AbortController();
  let stopping: FleetError | undefined;
  let draining: FleetError | undefined;
  let sessionFresh = true;
  let announced = { running: 0, waiting: 0, freeSlots: -1 };

  const spending = followFigures(options, versions);
  const repo = createRepoWatch({
    measure: () => agent.repoState(),
    onChange: () => announcer.changed(),
    clock,
    log,
  });
  const questionWaits = createQuestionWaits(queue.max_waiting);
  const shared = { profile, versions, ledger, clock, log, metrics, tracing: options.tracing };
  const runner = {
    ...shared,
    questionWaits,
    defaultBudget: spending.defaultBudget,
    countCache: options.countCache ?? false,
    maxInputWaitMs: limits.max_input_wait_s * 1000,
    artifactLimits: { artifactBytes: limits.max_artifact_bytes, taskBytes: limits.max_task_artifact_bytes },
    closing: closing.signal,
  };
  const random = options.random ?? Math.random;
  const givenUp = createGivenUpTasks({ self: profile, ledger, peers, client, clock, log, random });
  const contexts = createContextDeletions({
    ...options,
    random,
    agentContexts: agent.contexts,
    closed: () => stopping,
    keepAskingDays: config.fleet.retention.finished_tasks_days,
  });
  const { scheduler, relay, own, relayed } = createQueues({
    ...options,
    random,
    onGivenUp: givenUp.add,
    runner,
    versions,
    onChange: loadChanged,
    onExpired(task) {
      dispatcher
        .expire(task)
        .catch((error) => log.error({ ...taskFields(task), err: error }, 'expiry not written'));
    },
  });
  const queues = [own, relayed];
  const destinations = createDestinations({
    profile,
    versions,
    config,
    clock,
    peers,
    mcp,
    model: options.model,
    agent,
    spending,
    own,
    relayed,
    repoState: repo.measure,
  });
  const dispatcher = createDispatcher({
    ...shared,
    queues,
    destinationOf: destinations.destinationOf,
    maxInputWaitMs: runner.maxInputWaitMs,
    closing: closing.signal,
  });

  function loadChanged(): void {
    if (own.running > 0) sessionFresh = false;
    const { running, waiting, freeSlots } = announced;
    const isLeft = own.running === 0 && repo.leave();
    if (isLeft || own.running !== running || own.waiting !== waiting || own.freeSlots !== freeSlots)
      announcer.loadChanged();
  }

  const self = createSelfAnnounce({
    versions,
    instanceId: ids.uuid(),
    snapshot() {
      announced = { running: own.running, waiting: own.waiting, freeSlots: own.freeSlots };
      return {
        profile,
        config,
        sessionFresh,
        model: agent.executor.model,
        tools: agent.capabilities().tools,
        ...health.announced(),
        repoState: repo.last(),
        activeTasks: announced.running,
        queuedTasks: announced.waiting,
        freeSlots: announced.freeSlots,
        ready: stopping === undefined && draining === undefined,
        now: clock.now(),
      };
    },
  });

  /** True for a task that an earlier process began; a paused task is queued again. */
  const hasBegun = ({ id, state }: TaskRecord): boolean =>
    state === 'working' || ledger.loadCheckpoint(id) !== undefined || ledger.questions(id).length > 0;

  const peerChanges = peers.onChange(() => scheduler.changed());
  const health = watchHealth({
    mcp,
    model: options.model && { id: agent.executor.model.id, watch: options.model },
    announcer,
    metrics,
  });
  const intake = {
    ...shared,
    peers,
    dispatcher,
    ids,
    announce: self.now,
    closed: () => stopping,
    draining: () => draining,
    onInformed: self.remember,
    beginning: new Map<string, JsonObject>(),
    bundles: agent.bundles,
  };

  const subtasks: SubtaskRunner = {
    run: relay.run,
    unmet: destinations.checkSubtask,
    route: destinations.decide,
    contextOf: ({ caller, contextId }, { task: { repository } }) =>
      ledger.contexts.subtasksContextId(caller.name, contextId, repository?.name),
    discard: contexts.discardSubtasks,
  };
  /** The number of running tasks, own and relayed. */
  const activeTasks = (): number => own.running + relayed.running;
  /** The number of waiting tasks, own and relayed. */
  const queuedTasks = (): number => own.waiting + relayed.waiting + own.parked + relayed.parked;
  const accepting: Intake = {
    accept: (message, caller) => acceptMessage(intake, message, caller),
    async cancel(taskId, caller) {
      await dispatcher.cancel(ownTask(ledger, taskId, caller).id);
    },
  };

  return {
    ...accepting,
    /** Resumes the unfinished tasks of an earlier process. Call it once, before the listener opens. */
    async recover(): Promise<void> {
      await repo.measure();
      repo.start();
      announcer.changed();
      spending.restore(ledger);
      givenUp.start();
      contexts.start();
      // Begun tasks resume first, so that no other task of their context uses the work tree in between.
      const { begun = [], waiting = [] } = Object.groupBy(ledger.unfinished(), (task) =>
        hasBegun(task) ? 'begun' : 'waiting',
      );
      for (const task of [...begun, ...waiting])
        await dispatcher.resume(task, callerNamed(config, task.caller));
    },
    /**
     * Refuses new tasks, lets running tasks reach a checkpoint, and leaves unfinished tasks to the next start. Resolves when
     * all have stopped or `graceMs` has passed.
     */
    async stop(graceMs: number): Promise<void> {
      stopping = new FleetError('SHUTTING_DOWN', `${profile} is stopping: send the task again in a moment`, {
        retryAfterS: 5,
      });
      health[Symbol.dispose]();
      peerChanges[Symbol.dispose]();
      scheduler.stop();
      repo.stop();
      givenUp.stop();
      await stopGracefully({ own, relayed, dispatcher, contexts, clock, log }, stopping, graceMs);
      closing.abort(stopping);
    },
    /** Takes no new task from now on, and says so in its announces; unfinished tasks go on. Returns how many those are. */
    drain(): { readonly running: number; readonly waiting: number } {
      if (!draining) {
        draining = new FleetError('SHUTTING_DOWN', `${profile} is leaving: send the task to another profile`);
        log.info({ profile }, 'takes no new task: it is leaving');
        announcer.changed();
      }
      return { running: activeTasks(), waiting: queuedTasks() };
    },
    activeTasks,
    queuedTasks,
    /** The state of the agent's repositories, as last measured. */
    repoState: repo.last,
    /** This profile's SESSION_ANNOUNCE, from the last measurements. */
    announce: self.now,
    /** The SESSION_ANNOUNCE after measuring the workspace. */
    async freshAnnounce(): Promise<SessionAnnounce> {
      // Without room for a process, the last state is announced.
      await repo.measureQuietly().catch((error) => {
        if (!(error instanceof FleetError && error.code === 'CAPACITY')) throw error;
      });
      return self.now();
    },
    /** Metadata for a reply about a task that began a new context or was refused. */
    replyMetadata: self.metadataFor,
    spending,
    /** Explains the routing of a dispatch in its wire form. Records nothing and spends no tokens. */
    explain: (wire: JsonObject): Promise<RoutingDecision> =>
      explainDispatch({ profile, versions, judge: destinations.checkNow, decide: destinations.decide }, wire),
    /** Deletes contexts of callers; throws SHUTTING_DOWN while the gateway stops. */
    contexts,
    /** Reads the results of tasks. */
    results: createResults({ ledger, peers, client, clock, log, agentResults: agent.results }),
    /** Takes and gives the checkouts of callers. */
    checkouts: createCheckouts({
      ...options,
      bundles: agent.bundles,
      repositories: agent.repositories ?? [],
    }),
    /** Runs subtasks of the own agent at peers. */
    subtasks,
  };
}

/** The last part of the grace period, ms, in which runs without a checkpoint are told to end. */
const LAST_CALL_MS = 2_000;

/**
 * Lets running tasks reach a checkpoint and then ends the remaining ones. Resolves when all have stopped or `graceMs` has
 * passed. Relayed tasks are released at once, because their peers continue.
 */
async function stopGracefully(
  {
    own,
    relayed,
    dispatcher,
    contexts,
    clock,
    log,
  }: Pick<GatewayOptions, 'clock' | 'log'> & {
    readonly own: TaskQueue;
    readonly relayed: TaskQueue;
    readonly dispatcher: Pick<Dispatcher, 'idle'>;
    readonly contexts: Pick<ContextDeletions, 'stop'>;
  },
  reason: FleetError,
  graceMs: number,
): Promise<void> {
  const patience = new AbortController();
  using _lastCall = clock.timer(() => patience.abort(reason), Math.max(graceMs - LAST_CALL_MS, graceMs / 2));
  const stopped = Promise.all([
    own.stop(reason, patience.signal),
    relayed.stop(reason, AbortSignal.abort(reason)),
    dispatcher.idle(),
    contexts.stop(),
  ]);
  const grace = new AbortController();
  const timedOut = clock.sleep(graceMs, grace.signal).then(
    () =>
      log.warn(
        { active: own.running + relayed.running },
        'the grace period is over: running tasks are left as they are',
      ),
    () => undefined,
  );
  await Promise.race([stopped, timedOut]);
  grace.abort();
}
