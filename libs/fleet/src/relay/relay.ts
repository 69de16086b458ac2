import type { A2AClient, PeerTask } from '@hermes-fleet/a2a';
import {
  type AdmittedTask,
  type Attempt,
  type Clock,
  type Executor,
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonValue,
  type Log,
  type OnBlocked,
  type RunContext,
  type RunOutcome,
  type TaskResult,
  type Unmet,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { learn } from '../peers/announcer.ts';
import type { Peers } from '../peers/peers.ts';
import { measureBrief } from '../routing/measure-brief.ts';
import type { RoutingPolicy } from '../routing/policy.ts';
import { type RoutingDecision, route } from '../routing/route.ts';
import { errorOutcome } from '../tasks/result.ts';
import { type Delegated, type DelegateOptions, delegate, withdraw } from './delegate.ts';
import { payloadFor } from './payload.ts';
import { refusalOf } from './refusal.ts';
import { outcomeOf } from './remote-result.ts';
import { newSeat, type Seat } from './seat.ts';
import { type Delegation, decodeState, encodeState, type Refusal, type RelayState } from './state.ts';

/** How many of the peers that were considered an event names. */
const EXPLAINED = 20;

export interface RelayOptions {
  readonly peers: Peers;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly policy: RoutingPolicy;
  readonly onBlocked: OnBlocked;
  readonly maxAttempts: number;
  readonly peerDownAfterMs: number;
  readonly random: () => number;
}

/**
 * The executor that has peers do the work, under the same contract, and hands their result back (design 1, Who
 * executes). A peer that refuses is followed by the next one; a peer that took the task keeps it, so that it never
 * runs twice.
 */
export function createRelay(o: RelayOptions): Executor {
  return {
    model: { id: 'relay', tier: 'none', contextWindow: 0 },
    run: (task, context) => relayTask(o, task, context),
  };
}

async function relayTask(o: RelayOptions, task: AdmittedTask, context: RunContext): Promise<RunOutcome> {
  let state = decodeState(context.checkpoint.load());
  let resumed = state.current !== undefined;
  using seat = newSeat(o.peers);
  const save = async (next: RelayState): Promise<void> => {
    await context.checkpoint.save(encodeState(next));
    state = next;
  };
  for (;;) {
    context.signal.throwIfAborted();
    if (!state.current) {
      const chosen = await choose(o, task, context, state, seat);
      if ('outcome' in chosen) return chosen.outcome;
      await save({ ...state, current: chosen.delegation });
      await reportChoice(o, context, state, chosen.decision);
    }
    const { current } = state;
    if (!current) continue;
    seat.take(current.peer);
    const delegated = await attempt(o, task, context, current, resumed, save, state);
    seat.leave();
    resumed = false;
    const refusal = refusalOf(delegated, current.peer);
    const tried = attemptOf(o, current, delegated, refusal);
    const attempts = [...state.attempts, tried];
    if (refusal) {
      o.peers.behaviour(current.peer)?.refused();
      await save({ attempts, refusals: [...state.refusals, refusal], current: undefined });
      continue;
    }
    if (delegated.kind === 'failed') return { ...delegated.outcome, executedBy: current.peer, attempts };
    if (delegated.kind !== 'result') continue;
    await bookDelegated(context, attempts);
    return { ...outcomeOf(delegated.result, current.peer), attempts };
  }
}

type Ended = Delegated | { readonly kind: 'failed'; readonly outcome: RunOutcome };

/** One try at one peer. Throws only the signal's reason, after what the peer did so far was learned and booked. */
async function attempt(
  o: RelayOptions,
  task: AdmittedTask,
  context: RunContext,
  current: Delegation,
  resumed: boolean,
  save: (state: RelayState) => Promise<void>,
  state: RelayState,
): Promise<Ended> {
  const options = delegateOptions(o, task, context, current, resumed, (remoteTaskId) =>
    save({ ...state, current: { ...current, remoteTaskId } }),
  );
  let taken = current;
  if (!options)
    return failed('PEER_UNREACHABLE', `${current.peer} is not configured as a peer any more`, false);
  const { onTaken } = options;
  const tracked = {
    ...options,
    onTaken: (remoteTaskId: string) => {
      taken = { ...current, remoteTaskId };
      return onTaken(remoteTaskId);
    },
  };
  try {
    return await delegate(tracked, current);
  } catch (error) {
    if (!context.signal.aborted) {
      const { code, message, retryable } = FleetError.from(error);
      if (!(error instanceof FleetError)) throw error;
      return failed(code, message, retryable);
    }
    if (context.signal.reason instanceof FleetError && context.signal.reason.code === 'SHUTTING_DOWN')
      throw error;
    const result = await withdraw(tracked, taken);
    if (!result) throw error;
    return { kind: 'result', result };
  }
}

function delegateOptions(
  o: RelayOptions,
  task: AdmittedTask,
  context: RunContext,
  current: Delegation,
  resumed: boolean,
  onTaken: (remoteTaskId: string) => Promise<void>,
): DelegateOptions | undefined {
  const endpoint = o.peers.get(current.peer)?.endpoint;
  const behaviour = o.peers.behaviour(current.peer);
  if (!endpoint || !behaviour) return undefined;
  let lastState = '';
  let learnedSeq: JsonValue | undefined;
  return {
    ...{
      client: o.client,
      endpoint,
      behaviour,
      clock: o.clock,
      log: o.log,
      random: o.random,
      resumed,
      onTaken,
    },
    signal: context.signal,
    traceparent: task.traceparent,
    taskId: task.id,
    replySchema: task.dispatch.task.replySchema ?? 'prose',
    peerDownAfterMs: o.peerDownAfterMs,
    onRetry: (reason) => o.metrics.retry(reason),
    async onTask(remote: PeerTask) {
      const announce = remote.metadata[HANDSHAKE_EXTENSION];
      if (isJsonObject(announce) && announce.seq !== learnedSeq) {
        learnedSeq = announce.seq;
        await learn(o, [announce], endpoint.name);
      }
      if (remote.state === lastState) return;
      lastState = remote.state;
      await context.report({ type: 'progress', data: { peer: endpoint.name, state: remote.state } });
    },
  };
}

type Choice =
  | { readonly delegation: Delegation; readonly decision: RoutingDecision }
  | { readonly outcome: RunOutcome };

async function choose(
  o: RelayOptions,
  task: AdmittedTask,
  context: RunContext,
  state: RelayState,
  seat: Seat,
): Promise<Choice> {
  const { routing } = task.dispatch;
  const last = state.refusals.at(-1);
  const onBlocked = routing?.onBlocked ?? o.onBlocked;
  const over = state.attempts.length >= (routing?.maxAttempts ?? o.maxAttempts);
  if (last && (onBlocked !== 'reroute' || over)) return { outcome: await handBack(context, state, []) };
  if (context.budget.remaining() === 0)
    return {
      outcome: errorOutcome(
        'BUDGET_EXHAUSTED',
        'the token budget is used up before a peer got the task',
        false,
      ),
    };
  const excluded = new Map(state.refusals.map(({ peer, reason }) => [peer, reason]));
  const now = o.clock.now();
  const briefTokens = await measureBrief(task.dispatch, o.peers.list());
  // From here to the seat without a pause: of tasks that arrive together, each sees where the one before it went.
  const decision = route(task.dispatch, o.peers.list(), { ...o.policy, excluded, briefTokens }, now);
  if (decision.chosen !== undefined) seat.take(decision.chosen);
  const peer = decision.chosen === undefined ? undefined : o.peers.get(decision.chosen);
  if (!peer) return { outcome: await handBack(context, state, decision.unmet) };
  const delegation = {
    peer: peer.name,
    messageId: `${task.id}:${state.attempts.length + 1}`,
    contextId: task.contextId,
    payload: payloadFor(task, peer, o.policy, context.budget),
    startedAt: new Date(now).toISOString(),
  };
  return { delegation, decision };
}

async function reportChoice(
  o: RelayOptions,
  context: RunContext,
  state: RelayState,
  decision: RoutingDecision,
): Promise<void> {
  const to = decision.chosen ?? '';
  const last = state.refusals.at(-1);
  if (last) {
    const reason = last.unmet[0]?.kind ?? 'unreachable';
    o.metrics.reroute(last.peer, to, reason);
    await context.report({ type: 'rerouted', data: { from: last.peer, to, reason } });
  }
  const considered = decision.considered
    .slice(0, EXPLAINED)
    .map(({ peer, verdict, score }) => ({ peer, verdict, score }));
  await context.report({
    type: 'delegated',
    data: { peer: to, attempt: state.attempts.length + 1, considered },
  });
}

/** The task goes back to its caller: blocked, with everything that stood in the way, and an alert. */
async function handBack(
  context: RunContext,
  state: RelayState,
  unmet: readonly Unmet[],
): Promise<RunOutcome> {
  const refused = state.refusals.flatMap(({ peer, reason, unmet: theirs }) =>
    theirs.length > 0
      ? theirs.map((entry) => ({ ...entry, detail: `${peer}: ${entry.detail}` }))
      : [{ kind: 'peer' as const, name: peer, detail: `${peer}: ${reason}`, transient: true }],
  );
  const all = refused.length > 0 ? refused : [...unmet];
  const kinds = [...new Set(all.map(({ kind }) => kind))];
  await context.report({ type: 'alert', data: { reason: 'handed_back', unmet: kinds } });
  return {
    status: 'blocked',
    nextSteps: [],
    blockedReason: all.map(({ detail }) => detail).join('; '),
    artifacts: { filesChanged: [] },
    unmet: all,
    attempts: [...state.attempts],
  };
}

function attemptOf(
  o: RelayOptions,
  current: Delegation,
  delegated: Ended,
  refusal: Refusal | undefined,
): Attempt {
  const result: TaskResult | undefined = delegated.kind === 'result' ? delegated.result : undefined;
  const failure = delegated.kind === 'failed' ? delegated.outcome.error : result?.error;
  return {
    peer: current.peer,
    status: result?.status ?? (delegated.kind === 'failed' ? 'error' : 'unreachable'),
    reason: refusal?.reason ?? failure?.code ?? null,
    tokensSpent: result?.tokensSpent ?? 0,
    startedAt: current.startedAt,
    endedAt: new Date(o.clock.now()).toISOString(),
  };
}

/** Counts what the peers spent, once: whatever an earlier process has booked of it already is left out. */
async function bookDelegated(context: RunContext, attempts: readonly Attempt[]): Promise<void> {
  const reported = attempts.reduce((sum, { tokensSpent }) => sum + tokensSpent, 0);
  const booked = context.budget.usage().delegatedTokens ?? 0;
  if (reported > booked) await context.budget.addDelegated(reported - booked);
}

function failed(code: string, message: string, retryable: boolean): Ended {
  return { kind: 'failed', outcome: errorOutcome(code, message, retryable) };
}
