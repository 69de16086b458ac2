import type { A2AClient, PeerTask } from '@hermes-fleet/a2a';
import { clockOffsetOf, type PeerRegistry, recordAnnounceOf } from '@hermes-fleet/peers';
import {
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@hermes-fleet/protocol';
import { type TaskResult, versionOf } from '@hermes-fleet/protocol/handshake';
import {
  type Clock,
  inSpan,
  type Log,
  logWith,
  type RunOutcome,
  type Tracing,
  taskFields,
} from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
import { errorOutcome } from '@hermes-fleet/tasks';
import { createPassArtifacts } from './artifacts/pass-artifacts.ts';
import { cancelAtPeer } from './delegation/cancel-delegation.ts';
import { delegate } from './delegation/delegate.ts';
import type { DelegationOutcome } from './delegation/delegate-options.ts';
import type { Delegation } from './delegation/delegation.ts';
import { createPassProgress } from './delegation/pass-progress.ts';
import { createQuestionExchange } from './delegation/question-exchange.ts';
import type { Placement } from './placement.ts';
import { presentEndpoint } from './present-endpoint.ts';
import { cancelProseTask, delegateProse } from './prose/delegate-prose.ts';
import type { ProseOptions } from './prose/send-once.ts';
import type { RelayedRun } from './relayed-run.ts';

/** Bounds the state changes of a remote task that are reported: each is an event in our own log. */
const MAX_REPORTED_STATES = 20;

export interface AttemptOptions {
  readonly peers: PeerRegistry;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly tracing?: Tracing | undefined;
  readonly peerDownAfterMs: number;
  readonly random: () => number;
  /** The token with which a peer gets the checkout of the task's caller. */
  readonly repositoryTokenOf: (taskId: string) => string;
  /** A task ends that its peer may go on doing. It is durable. */
  readonly onGivenUp: (taskId: string) => void;
  /** A peer with an open circuit answers again, so waiting tasks may go to it. */
  readonly onPeerRecovered: () => void;
}

/** `failed`: the peer may have begun the work, so no other peer may get the task. */
export type AttemptOutcome = DelegationOutcome | { readonly kind: 'failed'; readonly outcome: RunOutcome };

type AttemptPlacement = Pick<Placement, 'holdSlot' | 'observe' | 'ask'>;

/** Delegates the task to one peer. Throws only the signal's reason, after reading the task's result at the peer. */
export function attempt(
  options: AttemptOptions,
  run: RelayedRun,
  current: Delegation,
  resumed: boolean,
  placement: AttemptPlacement,
): Promise<AttemptOutcome> {
  const { id, traceparent } = run.task;
  const attributes = { 'hermes.task.id': id, 'hermes.peer': current.peer, 'hermes.attempt.resumed': resumed };
  const start = { kind: 'client', parent: traceparent, attributes } as const;
  return inSpan(options.tracing, `dispatch ${current.peer}`, start, async (span) => {
    const within = { resumed, traceparent: span ? span.traceparent : traceparent };
    const outcome = await delegateOnce(options, run, current, within, placement);
    span?.set({ 'hermes.attempt.outcome': outcome.kind === 'result' ? outcome.result.status : outcome.kind });
    if (outcome.kind === 'failed') span?.end(outcome.outcome.error?.code ?? 'unknown');
    return outcome;
  });
}

async function delegateOnce(
  options: AttemptOptions,
  run: RelayedRun,
  current: Delegation,
  { resumed, traceparent }: Pick<ProseOptions, 'resumed' | 'traceparent'>,
  placement: AttemptPlacement,
): Promise<AttemptOutcome> {
  const { signal, stopping, ask } = run.context;
  let saved = current;
  const save = async (change: Partial<Delegation>): Promise<void> => {
    saved = { ...saved, ...change };
    await run.save({ current: saved });
  };
  // The peer is asked once more for a task that was given up just before a crash.
  if (run.state.givenUp) await run.save({ givenUp: undefined });
  const questions = createQuestionExchange({
    delegation: () => saved,
    save,
    async ask(question, key, withdrawn) {
      // A task that waits for its caller is no load on the peer.
      placement.ask();
      try {
        return await ask(question, { key, ...(withdrawn ? { signal: withdrawn } : {}) });
      } finally {
        // A question that was withdrawn leaves the task at the peer.
        if (!signal.aborted && !stopping.aborted) placement.holdSlot(current.peer);
      }
    },
  });
  const onAccepted = async (remoteTaskId: string): Promise<void> => {
    if (current.prose) return save({ remoteTaskId });
    saved = { ...saved, remoteTaskId };
    run.note({ current: saved });
  };
  const { peer } = current;
  using progress = createPassProgress({ clock: options.clock, signal, report: run.tellEvent, peer });
  const onTask = async (task: PeerTask): Promise<void> => {
    placement.observe(task);
    progress.observe(task);
  };
  const asked = { resumed, traceparent, questions, onAccepted, onTask };
  const delegateOptions = delegateOptionsFor(options, run, current, asked);
  if (!delegateOptions)
    return failed('PEER_UNREACHABLE', `${current.peer} is not configured as a peer any more`, false);
  try {
    return await (current.prose ? delegateProse : delegate)(delegateOptions, current);
  } catch (error) {
    if (!signal.aborted) {
      if (stopping.aborted && error === stopping.reason) throw error;
      if (!(error instanceof FleetError)) throw error;
      await giveUp(options, run, saved);
      return failed(error.code, error.message, error.retryable);
    }
    if (signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN') throw error;
    // Before the call, because an aborted run has little time.
    await giveUp(options, run, saved);
    const result = await cancel(delegateOptions, saved);
    if (result === 'open') throw error;
    await run.save({ givenUp: undefined });
    if (result === 'absent') throw error;
    return { kind: 'result', result };
  }
}

async function cancel(
  options: ProseOptions,
  delegation: Delegation,
): Promise<TaskResult | 'absent' | 'open'> {
  const { signal: _aborted, ...rest } = options;
  if (delegation.prose) return (await cancelProseTask(rest, delegation)) ?? 'open';
  const canceled = await cancelAtPeer(rest, delegation);
  return canceled.kind === 'ended' ? canceled.result : canceled.kind;
}

/** Remembers durably that the peer may still do the task (docs/handshake.md#late-results). */
async function giveUp(
  { clock, log, onGivenUp }: AttemptOptions,
  run: RelayedRun,
  current: Delegation,
): Promise<void> {
  // Without its ID, the task of a prose peer cannot be found for certain.
  if (current.prose && current.remoteTaskId === undefined) return;
  try {
    await run.save({ current, givenUp: { at: clock.now() } });
    onGivenUp(run.task.id);
  } catch (err) {
    log.warn({ ...taskFields(run.task), err }, 'task that was given up is not remembered');
  }
}

/** Returns undefined for a peer that is no longer configured. */
function delegateOptionsFor(
  options: AttemptOptions,
  run: RelayedRun,
  { peer, payload, prose }: Delegation,
  asked: Pick<ProseOptions, 'resumed' | 'traceparent' | 'questions' | 'onAccepted' | 'onTask'>,
): ProseOptions | undefined {
  const { task, context } = run;
  const { peers, log } = options;
  const endpoint = presentEndpoint(peers, peer);
  const health = peers.health(peer);
  if (!endpoint || !health) return undefined;
  const contract = task.dispatch.task;
  const membership = peers.membership(peer);
  const acceptUntil = (giveUpAt: number): number | undefined => {
    const offsetMs = clockOffsetOf(peers.get(peer));
    return offsetMs === undefined ? undefined : run.acceptUntil(peer, giveUpAt + offsetMs);
  };
  const circuitWasOpen = health.snapshot().circuitOpenUntil > 0;
  let lastState = '';
  let reports = 0;
  let learnedSeq: JsonValue | undefined;
  const { traceparent } = asked;
  const shared = { ...options, endpoint, traceparent, deadlineAt: task.deadlineAt };
  const passArtifacts = createPassArtifacts({ ...shared, context, isMember: !prose });
  return {
    ...shared,
    ...asked,
    health,
    log: logWith(log, taskFields(task)),
    acceptUntil,
    async onAccepted(remoteTaskId) {
      await asked.onAccepted(remoteTaskId);
      if (circuitWasOpen) options.onPeerRecovered();
    },
    // What a worker that was revoked says does not count any more.
    signal: membership ? AbortSignal.any([context.signal, membership]) : context.signal,
    taskId: task.id,
    parts: task.parts.filter(({ kind }) => kind !== 'text'),
    repositoryToken: options.repositoryTokenOf(task.id),
    protocolVersion: versionOf(payload) || task.dispatch.protocolVersion,
    replySchema: contract.replySchema ?? 'prose',
    outputSchema: isJsonObject(contract.outputSchema) ? contract.outputSchema : undefined,
    remainingTokens: () => context.budget.remaining(),
    onAnnounce: (announce: JsonObject) => recordAnnounceOf(options, [announce], peer),
    onRetry: (reason) => options.metrics.add('fleet_task_retries_total', { reason }),
    async onTask(remote: PeerTask, isFollowed = false) {
      await asked.onTask(remote);
      await passArtifacts(remote);
      const announce = remote.metadata[HANDSHAKE_EXTENSION];
      if (isJsonObject(announce) && announce.seq !== learnedSeq) {
        learnedSeq = announce.seq;
        // Counts for routing at once; the task does not wait until it is durable.
        void recordAnnounceOf(options, [announce], endpoint.name);
      }
      // A rejected task does not continue; its attempt reports it.
      if (isFollowed || remote.state === 'rejected') return;
      if (remote.state !== lastState && reports < MAX_REPORTED_STATES) {
        lastState = remote.state;
        reports += 1;
        run.tellEvent({ type: 'progress', data: { peer: endpoint.name, state: remote.state } });
      }
      // Also a new ID, of a task that the peer had forgotten and was sent again. The last state shares the commit of the outcome.
      if (!remote.terminal) await run.flush();
    },
  };
}

function failed(code: string, message: string, retryable: boolean): AttemptOutcome {
  return { kind: 'failed', outcome: errorOutcome(code, message, retryable) };
}
