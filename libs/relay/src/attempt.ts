import type { A2AClient, PeerTask } from '@hermes-fleet/a2a';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { recordAnnounceOf } from '@hermes-fleet/peers';
import {
  type Clock,
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Log,
  type RunOutcome,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { errorOutcome } from '@hermes-fleet/tasks';
import type { Course } from './course.ts';
import { delegate, withdraw } from './delegate.ts';
import type { Delegated } from './delegate-options.ts';
import { createDialogue } from './dialogue.ts';
import { delegateProse, withdrawProse } from './prose-delegate.ts';
import type { ProseOptions } from './prose-exchange.ts';
import type { Seat } from './seat.ts';
import type { Delegation } from './state.ts';

/** States of its task that a peer gets told of, however often it goes back and forth: each is an event of ours. */
const MAX_TOLD = 20;

export interface AttemptOptions {
  readonly peers: PeerRegistry;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly peerDownAfterMs: number;
  readonly random: () => number;
  /** A peer that was left alone answers again: tasks that wait may go to it. */
  readonly onBack: () => void;
}

/** How a try at a peer ended; `failed`: it may have begun the work, so that nobody else may be asked. */
export type Ended = Delegated | { readonly kind: 'failed'; readonly outcome: RunOutcome };

/** One try at one peer. Throws only the signal's reason, after what the peer did so far was learned. */
export async function attempt(
  o: AttemptOptions,
  course: Course,
  current: Delegation,
  resumed: boolean,
  seat: Pick<Seat, 'take' | 'leave'>,
): Promise<Ended> {
  const { signal, stopping, ask } = course.context;
  let taken = current;
  const note = async (change: Partial<Delegation>): Promise<void> => {
    taken = { ...taken, ...change };
    await course.save({ current: taken });
  };
  const dialogue = createDialogue({
    delegation: () => taken,
    note,
    async ask(question, key, over) {
      // A task that waits for its caller is no load there.
      seat.leave();
      const answer = await ask(question, { key, ...(over ? { signal: over } : {}) });
      seat.take(current.peer);
      return answer;
    },
  });
  const onTaken = (remoteTaskId: string): Promise<void> => note({ remoteTaskId });
  const options = optionsFor(o, course, current, { resumed, dialogue, onTaken });
  if (!options)
    return failed('PEER_UNREACHABLE', `${current.peer} is not configured as a peer any more`, false);
  try {
    return await (current.prose ? delegateProse : delegate)(options, current);
  } catch (error) {
    if (!signal.aborted) {
      if (stopping.aborted && error === stopping.reason) throw error;
      if (!(error instanceof FleetError)) throw error;
      return failed(error.code, error.message, error.retryable);
    }
    if (signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN') throw error;
    const result = await (current.prose ? withdrawProse : withdraw)(options, taken);
    if (!result) throw error;
    return { kind: 'result', result };
  }
}

function optionsFor(
  o: AttemptOptions,
  { task, context }: Course,
  { peer }: Delegation,
  { resumed, dialogue, onTaken }: Pick<ProseOptions, 'resumed' | 'dialogue' | 'onTaken'>,
): ProseOptions | undefined {
  const endpoint = o.peers.get(peer)?.endpoint;
  const behaviour = o.peers.health(peer);
  if (!endpoint || !behaviour) return undefined;
  const { client, clock, log, random, peerDownAfterMs } = o;
  const { task: asked } = task.dispatch;
  const wasLeftAlone = behaviour.snapshot().circuitOpenUntil > 0;
  let lastState = '';
  let told = 0;
  let learnedSeq: JsonValue | undefined;
  return {
    client,
    endpoint,
    behaviour,
    clock,
    log,
    random,
    peerDownAfterMs,
    resumed,
    dialogue,
    async onTaken(remoteTaskId) {
      await onTaken(remoteTaskId);
      if (wasLeftAlone) o.onBack();
    },
    signal: context.signal,
    traceparent: task.traceparent,
    taskId: task.id,
    deadlineAt: task.deadlineAt,
    replySchema: asked.replySchema ?? 'prose',
    outputSchema: isJsonObject(asked.outputSchema) ? asked.outputSchema : undefined,
    remainingTokens: () => context.budget.remaining(),
    onAnnounce: (announce: JsonObject) => recordAnnounceOf(o, [announce], peer),
    onRetry: (reason) => o.metrics.retry(reason),
    async onTask(remote: PeerTask) {
      const announce = remote.metadata[HANDSHAKE_EXTENSION];
      if (isJsonObject(announce) && announce.seq !== learnedSeq) {
        learnedSeq = announce.seq;
        await recordAnnounceOf(o, [announce], endpoint.name);
      }
      // One that was refused is told by its attempt: it does not go on.
      if (remote.state === lastState || remote.state === 'rejected' || told >= MAX_TOLD) return;
      lastState = remote.state;
      told += 1;
      await context.report({ type: 'progress', data: { peer: endpoint.name, state: remote.state } });
    },
  };
}

function failed(code: string, message: string, retryable: boolean): Ended {
  return { kind: 'failed', outcome: errorOutcome(code, message, retryable) };
}
