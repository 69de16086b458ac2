import type { RoutingDecision } from '@hermes-fleet/peers';
import {
  type AdmittedTask,
  type Executor,
  type RunContext,
  type RunOutcome,
  taskFields,
  type Unmet,
} from '@hermes-fleet/protocol';
import { errorOutcome } from '@hermes-fleet/tasks';
import { type AttemptOptions, attempt } from './attempt.ts';
import { attemptRecord, bookDelegated, explanationOf, withAttempt } from './attempt-history.ts';
import { outcomeOfAbort, returnBlocked, unmetKinds } from './blocked-outcome.ts';
import type { Delegation } from './delegation/delegation.ts';
import { outcomeOf } from './delegation/remote-result.ts';
import { payloadFor } from './payload.ts';
import { createPeerSelection, type PeerSelection } from './peer-selection.ts';
import { failedAtOnce, isTurnedAway, refusalOf, withRefusal } from './refusal.ts';
import { createRelayedRun, type RelayedRun } from './relayed-run.ts';
import { createReservation, type Reservation } from './reservation.ts';
import type { RelaySettings } from './settings.ts';
import { waitForPeer } from './wait-for-peer.ts';
import { createWaitQueue, type WaitQueue } from './wait-queue.ts';

export interface RelayOptions extends RelaySettings, Omit<AttemptOptions, 'onPeerRecovered'> {
  /** The peer that has the workspace and the conversation of the task's context. */
  readonly homeOf: (task: AdmittedTask) => string | undefined;
}

export interface Relay extends Executor {
  /** Updates the gauges of waiting tasks. */
  gauge(): void;
}

/**
 * Creates the executor that delegates tasks to peers, under the same contract, and returns their results. After a refusal
 * the task goes to the next peer, waits, or returns to its caller, as `on_blocked` says (docs/handshake.md#refusals). A
 * peer that accepted a task keeps it, so that no task runs twice.
 */
export function createRelay(options: RelayOptions): Relay {
  const waitQueue = createWaitQueue(options);
  const shared = { ...options, waitQueue, onPeerRecovered: waitQueue.checkAll };
  return {
    model: { id: 'relay', tier: 'none', contextWindow: 0 },
    run: (task, context) => relayTask(shared, task, context),
    gauge: waitQueue.gauge,
  };
}

type SharedOptions = RelayOptions & AttemptOptions & { readonly waitQueue: WaitQueue };

async function relayTask(
  options: SharedOptions,
  task: AdmittedTask,
  context: RunContext,
): Promise<RunOutcome> {
  const run = createRelayedRun(task, context, options);
  using reservation = createReservation(options.peers, options.waitQueue.checkAll);
  const selection = createPeerSelection(options, run, reservation);
  try {
    return await tryPeers({ ...options, selection, waitReported: false }, run, reservation);
  } catch (error) {
    return await outcomeOfAbort(options.clock, run, selection, error);
  }
}

/** Delegates to one peer after another, until one has done the task or none can. */
async function tryPeers(options: RunOptions, run: RelayedRun, reservation: Reservation): Promise<RunOutcome> {
  const { context } = run;
  let resumed = run.state.current !== undefined;
  let refusedForNow = false;
  await bookDelegated(context.budget, run.state.attempts);
  for (;;) {
    // A task that a peer has is canceled there first.
    if (!run.state.current) context.signal.throwIfAborted();
    const delegation = run.state.current ?? (await nextDelegation(options, run, refusedForNow));
    if ('status' in delegation) return { ...delegation, attempts: [...run.state.attempts] };
    const { peer, slice } = delegation;
    reservation.hold(peer);
    const outcome = await attempt(options, run, delegation, resumed, reservation);
    if (isTurnedAway(outcome)) {
      await turnAway(options, run, peer, reservation);
      resumed = false;
      refusedForNow = false;
      continue;
    }
    const now = options.clock.now();
    const refusal = refusalOf(outcome, peer, run.state.refusals, { now, random: options.random });
    const record = attemptRecord(run.state.current ?? delegation, outcome, refusal, now);
    const attempts = withAttempt(run.state.attempts, record);
    if (slice !== undefined && record.tokensSpent > slice) options.metrics.budgetOverrun('delegated');
    resumed = false;
    reservation.release();
    if (refusal) {
      options.peers.health(peer)?.recordRefused();
      const refusals = withRefusal(run.state.refusals, refusal);
      const refused = run.state.refused + (refusal.transient ? 0 : 1);
      await run.save({ attempts, refusals, refused, current: undefined });
      refusedForNow = refusal.transient && outcome.kind === 'result';
    }
    await bookDelegated(context.budget, attempts);
    if (outcome.kind === 'failed') return { ...outcome.outcome, executedBy: peer, attempts };
    if (outcome.kind !== 'result') continue;
    const failed = failedAtOnce(outcome);
    // A refusal, and a budget that is too small, say nothing about the peer.
    if (!refusal || (failed && outcome.result.error?.code !== 'budget_exhausted'))
      options.peers.health(peer)?.recordEnded(failed);
    if (!refusal || (failed && !hasAlternative(options, run))) {
      const { home } = options.selection;
      const moved = home !== undefined && home !== peer ? { contextFresh: true } : {};
      return { ...outcomeOf(outcome.result, peer, options.policy.self), ...moved, attempts };
    }
  }
}

/** True if another peer can take the task now, or as soon as it has a free slot. */
function hasAlternative(
  { selection }: RunOptions,
  { context, state, onBlocked, maxAttempts }: RelayedRun,
): boolean {
  if (onBlocked === 'fail' || state.refused >= maxAttempts || context.budget.remaining() <= 0) return false;
  const decision = selection.route(false);
  return decision.chosen !== undefined || (selection.mayWait(decision) && selection.isQueued);
}

/** Leaves a peer without a free slot. It costs the task no attempt, and the peer no score. */
async function turnAway(
  { peers, metrics }: RunOptions,
  run: RelayedRun,
  peer: string,
  reservation: Reservation,
): Promise<void> {
  peers.health(peer)?.load.recordFull();
  metrics.retry('capacity');
  reservation.release();
  await run.save({ turnedAway: run.state.turnedAway + 1, current: undefined });
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
  refusedForNow: boolean,
): Promise<Delegation | RunOutcome> {
  const { context, state, onBlocked } = run;
  const { selection } = options;
  // With `queue`, a task waits for a peer that refused for the moment before any other peer is asked.
  let waitFirst = refusedForNow && onBlocked === 'queue';
  let waitedFor: string | undefined;
  for (;;) {
    context.signal.throwIfAborted();
    const attemptsUsedUp = state.refused >= run.maxAttempts;
    if (context.budget.remaining() <= 0 && !attemptsUsedUp)
      return { ...budgetExhausted(), attempts: [...state.attempts] };
    await selection.measureBrief();
    const giveUp = attemptsUsedUp || (state.refusals.length > 0 && onBlocked === 'fail');
    const mayGo = !giveUp && !waitFirst;
    const decision = selection.route(mayGo);
    const ahead = mayGo && waitedFor === undefined ? waitersAhead(options, run, decision) : undefined;
    if (mayGo && !ahead && decision.chosen !== undefined)
      return await startDelegation(options, run, decision, decision.chosen, waitedFor);
    // Releases the capacity for the waiters ahead; the task queues up behind them.
    if (ahead) selection.route(false);
    const unmet = ahead ? [ahead] : selection.unmet(decision);
    if (giveUp || onBlocked === 'fail' || !selection.mayWait(decision)) return returnBlocked(run, unmet);
    const queued = ahead !== undefined || selection.isQueued;
    const wait = { unmet, queued, reported: options.waitReported, checkNow: !waitFirst };
    options.waitReported = true;
    const outcome = await waitForPeer(options, run, selection, wait);
    if (outcome) return outcome;
    waitedFor = unmetKinds(unmet)[0] ?? 'peer';
    waitFirst = false;
  }
}

/** The unmet requirement of a task whose chosen peer has waiters ahead of it. A task that may not wait goes at once. */
function waitersAhead(
  { waitQueue, clock }: RunOptions,
  { task, state, onBlocked }: RelayedRun,
  { chosen }: RoutingDecision,
): Unmet | undefined {
  if (chosen === undefined || onBlocked === 'fail') return undefined;
  const priority = task.dispatch.task.priority ?? 'normal';
  const since = state.waiting?.since ?? clock.now();
  if (!waitQueue.hasWaiterAhead(chosen, { priority, since })) return undefined;
  const detail = `${chosen}: others have waited longer for its next place, or are more urgent`;
  return { kind: 'capacity', name: chosen, detail, transient: true };
}

async function startDelegation(
  options: RunOptions,
  run: RelayedRun,
  decision: RoutingDecision,
  to: string,
  waitedFor: string | undefined,
): Promise<Delegation | RunOutcome> {
  const { task, context, state } = run;
  const { metrics } = options;
  const peer = options.peers.get(to);
  if (!peer) return errorOutcome('INTERNAL', `${to} was chosen and is not known`, true);
  const now = options.clock.now();
  const considered = explanationOf(decision);
  const current: Delegation = {
    peer: to,
    messageId: `${task.id}:${state.attempts.length + state.turnedAway + 1}`,
    contextId: task.contextId,
    ...payloadFor(task, peer, options.policy, context.budget, now, options.selection.mustQueue),
    startedAt: new Date(now).toISOString(),
    considered,
  };
  await run.save({ current });
  options.waitReported = false;
  options.log.info({ ...taskFields(task), peer: to }, 'task is sent to a peer');
  const last = state.refusals.at(-1);
  if (waitedFor !== undefined) metrics.retry(waitedFor);
  if (last && last.peer !== to) {
    const reason = last.unmet[0]?.kind ?? (last.transient ? 'unreachable' : 'failed');
    metrics.reroute(last.peer, to, reason);
    await context.report({ type: 'rerouted', data: { from: last.peer, to, reason } });
  }
  const brief = considered.map(({ peer: name, verdict, score }) => ({ peer: name, verdict, score }));
  const data = { peer: to, attempt: state.attempts.length + 1, considered: brief };
  await context.report({ type: 'delegated', data });
  return current;
}

function budgetExhausted(): RunOutcome {
  const message = 'the token budget is used up before a peer got the task';
  return errorOutcome('BUDGET_EXHAUSTED', message, false);
}
