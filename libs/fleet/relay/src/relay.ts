import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { reasonInEvent, routingPolicy } from '@hermes-fleet/peers';
import type { Attempt, AttemptConsidered } from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  type Executor,
  inSpan,
  type RunContext,
  type RunOutcome,
  taskFields,
} from '@hermes-fleet/protocol/ports';
import { errorOutcome, type Lane, type Scheduler } from '@hermes-fleet/tasks';
import { type AttemptOptions, type AttemptOutcome, attempt } from './attempt.ts';
import {
  attemptInEvent,
  attemptRecord,
  bookDelegated,
  explanationInEvent,
  explanationOf,
  unmetKinds,
  withAttempt,
} from './attempt-history.ts';
import { awaitPlace, type Placed } from './await-place.ts';
import { outcomeOfAbort, returnBlocked } from './blocked-outcome.ts';
import type { Delegation } from './delegation/delegation.ts';
import { outcomeOf } from './delegation/remote-result.ts';
import { payloadFor } from './payload.ts';
import { createPeerSelection, type PeerSelection } from './peer-selection.ts';
import { createPlacement, type Placement } from './placement.ts';
import { failedAtOnce, isTurnedAway, refusalOf, withRefusal } from './refusal.ts';
import type { Refusal, RelayState } from './relay-state.ts';
import { createRelayedRun, type RelayedRun } from './relayed-run.ts';

export type RelaySettings = ReturnType<typeof relaySettings>;

/** The settings of fleet.yaml for relayed tasks (docs/configuration.md#fleetyaml). */
export function relaySettings(config: FleetConfig, self: string, versions: readonly string[]) {
  const { routing, queue } = config.fleet;
  return {
    policy: routingPolicy(config, self, versions),
    onBlocked: routing.on_blocked,
    /** How many peers may refuse one task, unless its dispatch says otherwise. */
    maxAttempts: routing.max_attempts,
    /** How long a peer that has a task may be unreachable, ms. */
    peerDownAfterMs: routing.peer_down_after_s * 1000,
    /** How long a task waits for the peer that has its context, ms. */
    patienceMs: routing.patience_s * 1000,
    /** How long a task without a deadline may wait while no peer could take it, ms. */
    maxWaitMs: queue.max_wait_s * 1000,
  };
}

export interface RelayOptions
  extends RelaySettings,
    Omit<AttemptOptions, 'onPeerRecovered' | 'peerDownAfterMs'> {
  /** The peer that has the workspace and the conversation of the task's context. */
  readonly homeOf: (task: AdmittedTask) => string | undefined;
  /** The name, at peers, of the conversation that the task continues. */
  readonly conversationOf: (task: AdmittedTask) => string;
  readonly scheduler: Scheduler;
  /** The lane of the relayed tasks, whose tickets the scheduler has. */
  readonly lane: Lane;
  /** The lane of the parts of own tasks, which have no ticket yet. */
  readonly parts: Lane;
}

/**
 * Creates the executor that delegates tasks to peers, under the same contract, and returns their results. After a refusal
 * the task goes to the next peer, waits, or returns to its caller, as `on_blocked` says (docs/handshake.md#refusals). A
 * peer that accepted a task keeps it, so that no task runs twice.
 */
export function createRelay(options: RelayOptions): Executor {
  const { scheduler } = options;
  const onPeerRecovered = (): void => scheduler.changed();
  const shared = { ...options, onPeerRecovered };
  return {
    model: { id: 'relay', tier: 'none', contextWindow: 0 },
    // A dispatch leaves, and a peer is asked anything, when its delegation is saved.
    savesBeforeEffects: true,
    run: (task, context) => relayTask(shared, task, context),
  };
}

type SharedOptions = RelayOptions & AttemptOptions;

async function relayTask(
  options: SharedOptions,
  task: AdmittedTask,
  context: RunContext,
): Promise<RunOutcome> {
  const { scheduler, lane, parts, clock } = options;
  const run = createRelayedRun(task, context, options);
  const known = scheduler.ticketOf(task.id);
  const { priority = 'normal' } = task.dispatch.task;
  // Parts of one task may be at several peers at the same time, so each is a context of its own.
  const part = { taskId: task.id, contextId: task.id, caller: task.caller.name, priority };
  const receivedAt = run.state.waiting?.since ?? run.startedAt;
  const ticket = known ?? scheduler.add(parts, { ...part, receivedAt }, 'submitted', false);
  const placement = createPlacement(options.peers, ticket, () => scheduler.changed());
  const selection = createPeerSelection(options, run);
  try {
    return await tryPeers(
      { ...options, lane: known ? lane : parts, selection, waitReported: false },
      run,
      placement,
    );
  } catch (error) {
    return await outcomeOfAbort(clock, run, selection, error);
  } finally {
    if (!known) ticket.end();
  }
}

/** Delegates to one peer after another, until one has done the task or none can. */
async function tryPeers(options: RunOptions, run: RelayedRun, placement: Placement): Promise<RunOutcome> {
  const { context } = run;
  let resumed = run.state.current !== undefined;
  await bookDelegated(context.budget, run.state.attempts);
  for (;;) {
    // A task that a peer has is canceled there first.
    if (!run.state.current) context.signal.throwIfAborted();
    const delegation =
      run.state.current ??
      (await inRouteSpan(options, run, (traceparent) =>
        nextDelegation(options, run, placement, traceparent),
      ));
    if ('status' in delegation) return { ...delegation, attempts: [...run.state.attempts] };
    const { peer, slice } = delegation;
    placement.holdSlot(peer);
    const outcome = await attempt(options, run, delegation, resumed, placement);
    if (isTurnedAway(outcome)) {
      await turnAway(options, run, delegation, outcome, placement);
      resumed = false;
      continue;
    }
    const now = options.clock.now();
    const refusal = refusalOf(outcome, peer, run.state.refusals, { now, random: options.random });
    const record = attemptRecord(run.state.current ?? delegation, outcome, refusal, now);
    const attempts = withAttempt(run.state.attempts, record);
    if (slice !== undefined && record.tokensSpent > slice)
      options.metrics.add('fleet_budget_overruns_total', { action: 'delegated' });
    resumed = false;
    placement.leave(true);
    const failed = failedAtOnce(outcome);
    const change = refusal && stateAfter(run.state, refusal, attempts, failed);
    // A failure that is the task's result stays with its peer, where a restart finds it again.
    const isResult =
      change === undefined || (failed && !run.after(change, () => hasAlternative(options, run)));
    if (refusal) options.peers.health(peer)?.recordRefused();
    run.tell(bookDelegated(context.budget, attempts));
    if (change && !isResult) {
      reportAttempt(run, delegation, outcome, false);
      await keep(run, delegation, outcome, change);
    }
    if (outcome.kind === 'failed') return { ...outcome.outcome, executedBy: peer, attempts };
    if (outcome.kind !== 'result') continue;
    // A refusal, and a budget that is too small, say nothing about the peer.
    if (!refusal || (failed && outcome.result.error?.code !== 'budget_exhausted'))
      options.peers.health(peer)?.recordEnded(failed);
    if (isResult) {
      const { home } = options.selection;
      const moved = home !== undefined && home !== peer ? { contextFresh: true } : {};
      return { ...outcomeOf(outcome.result, peer, options.policy.self), ...moved, attempts };
    }
  }
}

/**
 * The state of a task that this peer has refused. A peer that repeats its refusal does not count again, or a peer that
 * refuses all work would use up the attempts while the task waits for a slot at another. A failure may have cost tokens,
 * and always counts.
 */
function stateAfter(
  { refusals, refused }: RelayState,
  refusal: Refusal,
  attempts: readonly Attempt[],
  failed: boolean,
): Partial<RelayState> {
  const repeats = refusals.some(({ peer, transient }) => peer === refusal.peer && !transient);
  return {
    attempts,
    refusals: withRefusal(refusals, refusal),
    refused: refused + (refusal.transient || (repeats && !failed) ? 0 : 1),
    current: undefined,
  };
}

/** True if another peer can take the task now, or as soon as it has a free slot. */
function hasAlternative(
  { selection, clock }: RunOptions,
  { context, state, onBlocked, maxAttempts }: RelayedRun,
): boolean {
  if (onBlocked === 'fail' || state.refused >= maxAttempts || context.budget.remaining() <= 0) return false;
  const now = clock.now();
  return selection.route(now, false).chosen !== undefined || selection.look(now).verdict === 'queued';
}

/** Leaves a peer without a free slot. It costs the task no attempt, and the peer no score. */
async function turnAway(
  { peers, metrics }: RunOptions,
  run: RelayedRun,
  delegation: Delegation,
  outcome: AttemptOutcome,
  placement: Placement,
): Promise<void> {
  peers.health(delegation.peer)?.load.recordFull();
  metrics.add('fleet_task_retries_total', { reason: 'capacity' });
  placement.leave(false);
  reportAttempt(run, delegation, outcome, true);
  await keep(run, delegation, outcome, { turnedAway: run.state.turnedAway + 1, current: undefined });
}

/** Reports what became of an attempt that leaves the task without a result. */
function reportAttempt(
  run: RelayedRun,
  delegation: Delegation,
  outcome: AttemptOutcome,
  isFull: boolean,
): void {
  const data = attemptInEvent(delegation, run.state.attempts.length + 1, outcome, isFull);
  run.tellEvent({ type: 'progress', data });
}

/**
 * Keeps the state after an attempt. A result is durable with the next attempt, the wait or the end: after a crash before
 * that, its peer answers the same dispatch again. A peer that did not take the task, or that is a prose peer, has nothing
 * to answer with, so its outcome is written at once.
 */
async function keep(
  run: RelayedRun,
  { prose }: Delegation,
  { kind }: AttemptOutcome,
  change: Partial<RelayState>,
): Promise<void> {
  if (kind === 'result' && !prose) run.note(change);
  else await run.save(change);
}

type RunOptions = SharedOptions & {
  readonly selection: PeerSelection;
  /** This process has reported that the task waits. */
  waitReported: boolean;
};

/** Selects the next peer, after a wait if that may help. Returns an outcome when no peer can get the task. */
async function nextDelegation(
  options: RunOptions,
  run: RelayedRun,
  placement: Placement,
  traceparent: string | undefined,
): Promise<Delegation | RunOutcome> {
  const { context, state, onBlocked } = run;
  const { selection } = options;
  const attemptsUsedUp = state.refused >= run.maxAttempts;
  if (context.budget.remaining() <= 0 && !attemptsUsedUp)
    return errorOutcome('BUDGET_EXHAUSTED', 'the token budget is used up before a peer got the task', false);
  await selection.measureBrief();
  if (attemptsUsedUp || selection.isRefusedAtHome() || (state.refusals.length > 0 && onBlocked === 'fail'))
    return returnBlocked(run, selection.unmet(selection.route(options.clock.now(), false)));
  const { waitReported: reported } = options;
  const placed = await awaitPlace(options, run, selection, placement, { reported, traceparent });
  if (run.state.waiting !== undefined) options.waitReported = true;
  return 'peer' in placed ? startDelegation(options, run, placed) : placed;
}

async function startDelegation(
  options: RunOptions,
  run: RelayedRun,
  { decision, peer: to, waitedFor, mustQueue }: Placed,
): Promise<Delegation | RunOutcome> {
  const { task, context, state } = run;
  const { metrics } = options;
  const peer = options.peers.get(to);
  if (!peer) return errorOutcome('INTERNAL', `${to} was chosen and is not known`, true);
  const now = options.clock.now();
  const considered = explanationOf(decision);
  const { home } = options.selection;
  const terms = {
    mayQueue: mustQueue,
    conversation: options.conversationOf(task),
    isMoved: home !== undefined && home !== to,
  };
  const current: Delegation = {
    peer: to,
    messageId: `${task.id}:${state.attempts.length + state.turnedAway + 1}`,
    contextId: task.contextId,
    ...payloadFor(task, peer, options.policy, context.budget, now, terms),
    startedAt: new Date(now).toISOString(),
    considered,
  };
  const saved = run.save({ current });
  const last = state.refusals.at(-1);
  const from = last?.peer === to ? undefined : last;
  const reason = from?.unmet[0]?.kind ?? (from?.transient ? 'unreachable' : 'failed');
  if (from) run.tellEvent({ type: 'rerouted', data: { from: from.peer, to, reason } });
  const data = {
    peer: to,
    attempt: state.attempts.length + 1,
    considered: explanationInEvent(considered),
  };
  run.tellEvent({ type: 'delegated', data });
  // The dispatch leaves when all of this is durable: one commit, which has a result of the attempt before too.
  try {
    await Promise.all([saved, run.flush()]);
    context.signal.throwIfAborted();
  } catch (thrown) {
    // It has not left: the peer has nothing that could be canceled.
    run.note({ current: undefined });
    throw thrown;
  }
  if (waitedFor !== undefined) metrics.add('fleet_task_retries_total', { reason: waitedFor });
  if (from) metrics.add('fleet_task_reroutes_total', { from: from.peer, to, reason });
  options.waitReported = false;
  options.log.info({ ...taskFields(task), peer: to }, 'task is sent to a peer');
  return current;
}

/** Selects the next peer in a span, which says why each peer was or was not chosen (docs/traces.md#spans). */
function inRouteSpan(
  { tracing }: Pick<RelayOptions, 'tracing'>,
  { task, state }: RelayedRun,
  select: (traceparent: string | undefined) => Promise<Delegation | RunOutcome>,
): Promise<Delegation | RunOutcome> {
  const attributes = { 'hermes.task.id': task.id, 'hermes.route.refusals': state.refusals.length };
  return inSpan(tracing, 'route', { parent: task.traceparent, attributes }, async (span) => {
    const selected = await select(span ? span.traceparent : task.traceparent);
    if ('status' in selected)
      span?.set({
        'hermes.route.outcome': selected.status,
        'hermes.route.unmet': unmetKinds(selected.unmet ?? []),
      });
    else
      span?.set({
        'hermes.route.outcome': 'placed',
        'hermes.peer': selected.peer,
        'hermes.route.considered': selected.considered?.map(explained),
      });
    return selected;
  });
}

const explained = ({ peer, verdict, reasons }: AttemptConsidered): string =>
  [`${peer}: ${verdict}`, ...reasons.map(reasonInEvent)].join('; ');
