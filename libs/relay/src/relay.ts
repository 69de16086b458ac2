import type { RoutingDecision, RoutingPolicy } from '@hermes-fleet/peers';
import type { AdmittedTask, Executor, OnBlocked, RunContext, RunOutcome } from '@hermes-fleet/protocol';
import { errorOutcome } from '@hermes-fleet/tasks';
import { type AttemptOptions, attempt } from './attempt.ts';
import { attemptOf, bookDelegated, explained, refusedDispatches, withAttempt } from './attempts.ts';
import { type Choice, createChoice } from './choice.ts';
import { type Course, createCourse } from './course.ts';
import { endedBy } from './ended-by.ts';
import { handBack, kindsOf } from './hand-back.ts';
import { payloadFor } from './payload.ts';
import { refusalOf, withRefusal } from './refusal.ts';
import { outcomeOf } from './remote-result.ts';
import { newSeat, type Seat } from './seat.ts';
import type { Delegation } from './state.ts';
import { waitForPeer } from './wait.ts';
import { createWaitingRoom, type WaitingRoom } from './waiting-room.ts';

export interface RelayOptions extends Omit<AttemptOptions, 'onBack'> {
  readonly policy: RoutingPolicy;
  readonly onBlocked: OnBlocked;
  /** How many peers may refuse one task, where its dispatch does not say. */
  readonly maxAttempts: number;
  /** How long a task without a deadline may wait for a peer, ms. */
  readonly maxWaitMs: number;
  /** How many tasks may wait for a peer at a time. */
  readonly maxWaiting: number;
  /** Waiting this long lifts a task by one priority. */
  readonly ageingMs: number;
}

export interface Relay extends Executor {
  /** Brings the gauges of the tasks that wait up to date. */
  gauge(): void;
}

/**
 * The executor that has peers do the work, under the same contract, and hands their result back (design 1, Who
 * executes). A peer that refuses is followed by the next one, or waited for, as `on_blocked` says (design 2, Blocked); a
 * peer that took the task keeps it, so that it never runs twice.
 */
export function createRelay(o: RelayOptions): Relay {
  const room = createWaitingRoom(o);
  const options = { ...o, room, onBack: room.wake };
  return {
    model: { id: 'relay', tier: 'none', contextWindow: 0 },
    run: (task, context) => relayTask(options, task, context),
    gauge: room.gauge,
  };
}

type Options = RelayOptions & AttemptOptions & { readonly room: WaitingRoom };

async function relayTask(o: Options, task: AdmittedTask, context: RunContext): Promise<RunOutcome> {
  const course = createCourse(task, context, o);
  using seat = newSeat(o.peers, o.room.wake);
  const choice = createChoice(o, course, seat);
  try {
    return await pursue({ ...o, choice, told: false }, course, seat);
  } catch (error) {
    return await endedBy(o, course, choice, error);
  }
}

/** Peer after peer, until one has done it or nobody can. */
async function pursue(o: Chooser, course: Course, seat: Seat): Promise<RunOutcome> {
  const { context } = course;
  let resumed = course.state.current !== undefined;
  let refused = false;
  await bookDelegated(context.budget, course.state.attempts);
  for (;;) {
    // What is with a peer is withdrawn there before it ends here.
    if (!course.state.current) context.signal.throwIfAborted();
    const chosen = course.state.current ?? (await choose(o, course, refused));
    if ('status' in chosen) return chosen;
    seat.take(chosen.peer);
    const ended = await attempt(o, course, chosen, resumed, seat);
    const now = o.clock.now();
    const refusal = refusalOf(ended, chosen.peer, course.state.refusals, { now, random: o.random });
    const tried = attemptOf(course.state.current ?? chosen, ended, refusal, now);
    const attempts = withAttempt(course.state.attempts, tried);
    if (chosen.slice !== undefined && tried.tokensSpent > chosen.slice) o.metrics.budgetOverrun('delegated');
    resumed = false;
    seat.leave();
    if (refusal) {
      o.peers.health(chosen.peer)?.recordRefused();
      const refusals = withRefusal(course.state.refusals, refusal);
      await course.save({ attempts, refusals, current: undefined });
      refused = refusal.transient && ended.kind === 'result';
    }
    await bookDelegated(context.budget, attempts);
    if (ended.kind === 'failed') return { ...ended.outcome, executedBy: chosen.peer, attempts };
    if (!refusal && ended.kind === 'result') return { ...outcomeOf(ended.result, chosen.peer), attempts };
  }
}

type Chooser = Options & {
  readonly choice: Choice;
  /** Whether this process has said that the task waits. */
  told: boolean;
};

/** The next peer, after waiting for one where that may help; what the task comes to when there is none. */
async function choose(o: Chooser, course: Course, refused: boolean): Promise<Delegation | RunOutcome> {
  const { context, state, onBlocked } = course;
  const { choice } = o;
  // A peer that refused for the moment is waited for, under this policy, before anybody else is asked.
  let calm = refused && onBlocked === 'queue';
  let waitedFor: string | undefined;
  for (;;) {
    context.signal.throwIfAborted();
    const over = refusedDispatches(state.attempts) >= course.maxAttempts;
    const left = context.budget.remaining() > 0;
    if (!left && !over) return { ...exhausted(), attempts: [...state.attempts] };
    await choice.measure();
    const handedBack = over || (state.refusals.length > 0 && onBlocked === 'fail');
    const goes = !handedBack && !calm;
    const decision = choice.decide(goes);
    const behind = goes && waitedFor === undefined ? othersFirst(o, course, decision) : undefined;
    if (goes && !behind && decision.chosen !== undefined)
      return await delegationTo(o, course, decision, decision.chosen, waitedFor);
    // The place that it would have is for those who wait: it comes into line behind them.
    if (behind) choice.decide(false);
    const missing = behind ? [behind] : choice.missing(decision);
    if (handedBack || onBlocked === 'fail' || !choice.mayWait(decision)) return handBack(o, course, missing);
    const wait = { missing, reported: o.told, lookNow: !calm };
    o.told = true;
    const outcome = await waitForPeer(o, course, choice, wait);
    if (outcome) return outcome;
    waitedFor = kindsOf(missing)[0] ?? 'peer';
    calm = false;
  }
}

/**
 * What keeps a task from a peer that has room: others have waited for that, and go before it. One that may not wait is
 * not kept.
 */
function othersFirst(o: Chooser, { task, state, onBlocked }: Course, { chosen }: RoutingDecision) {
  if (chosen === undefined || onBlocked === 'fail') return undefined;
  const priority = task.dispatch.task.priority ?? 'normal';
  const since = state.waiting?.since ?? o.clock.now();
  if (!o.room.isAwaited(chosen, { priority, since })) return undefined;
  const detail = `${chosen}: others have waited longer for its next place, or are more urgent`;
  return { kind: 'capacity' as const, name: chosen, detail, transient: true };
}

async function delegationTo(
  o: Chooser,
  course: Course,
  decision: RoutingDecision,
  to: string,
  waitedFor: string | undefined,
): Promise<Delegation | RunOutcome> {
  const { task, context, state } = course;
  const peer = o.peers.get(to);
  if (!peer) return errorOutcome('INTERNAL', `${to} was chosen and is not known`, true);
  const now = o.clock.now();
  const considered = explained(decision);
  const current: Delegation = {
    peer: to,
    messageId: `${task.id}:${state.attempts.length + 1}`,
    contextId: task.contextId,
    ...payloadFor(task, peer, o.policy, context.budget, now),
    startedAt: new Date(now).toISOString(),
    considered,
  };
  await course.save({ current });
  const last = state.refusals.at(-1);
  if (waitedFor !== undefined) o.metrics.retry(waitedFor);
  if (last && last.peer !== to) {
    const reason = last.unmet[0]?.kind ?? 'unreachable';
    o.metrics.reroute(last.peer, to, reason);
    await context.report({ type: 'rerouted', data: { from: last.peer, to, reason } });
  }
  const brief = considered.map(({ peer: name, verdict, score }) => ({ peer: name, verdict, score }));
  const data = { peer: to, attempt: state.attempts.length + 1, considered: brief };
  await context.report({ type: 'delegated', data });
  return current;
}

function exhausted(): RunOutcome {
  const message = 'the token budget is used up before a peer got the task';
  return errorOutcome('BUDGET_EXHAUSTED', message, false);
}
