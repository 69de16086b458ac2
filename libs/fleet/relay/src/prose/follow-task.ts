import { type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs } from '@hermes-fleet/protocol';
import { type PeerContact, peerError } from '../delegation/peer-contact.ts';
import { isWaitingForCaller } from '../delegation/question-exchange.ts';
import {
  type FollowOptions,
  MAX_ANSWER_MS,
  type OutcomeUnknown,
  QUERY_TIMEOUT_MS,
  RETRY_BACKOFF,
  waitToRetryOrGiveUp,
} from './send-once.ts';

const IDLE_TIMEOUT_MS = 45_000;

interface Snapshot {
  readonly task: PeerTask | undefined;
  /** The peer offers streams for its tasks. */
  readonly streams: boolean;
}

/**
 * Follows an agent's task until it ends or waits for its caller: by stream if the agent has one, else by polling with
 * backoff. The outcome is unknown when the agent no longer knows the task, is unreachable too long, or, without a deadline,
 * shows no change for ten minutes. `answeredStatus` is the ID of a status whose question is already answered.
 */
export async function followTask(
  options: FollowOptions,
  contact: PeerContact,
  from: PeerTask | string,
  answeredStatus?: string,
): Promise<PeerTask | OutcomeUnknown> {
  const { clock, random, signal, deadlineAt } = options;
  const isOver = (task: PeerTask): boolean =>
    task.terminal ||
    (isWaitingForCaller(task) && (task.statusId === undefined || task.statusId !== answeredStatus));
  const id = typeof from === 'string' ? from : from.id;
  let seen: Snapshot = { task: typeof from === 'string' ? undefined : from, streams: true };
  let last = fingerprint(seen.task);
  let changedAt = clock.now();
  for (let turns = 0; ; turns += 1) {
    if (seen.task && isOver(seen.task)) return seen.task;
    if (turns > 0) await clock.sleep(backoffMs(turns, { ...RETRY_BACKOFF, random }), signal);
    if (seen.streams) seen = await watchOnce(options, contact, id, seen.task, isOver);
    if (seen.task && isOver(seen.task)) return seen.task;
    const queried = await queryTask(options, contact, id);
    if ('why' in queried) return queried;
    seen = { ...seen, task: queried };
    if (fingerprint(queried) !== last) {
      last = fingerprint(queried);
      changedAt = clock.now();
      turns = 0;
    } else if (deadlineAt === undefined && clock.now() - changedAt > MAX_ANSWER_MS)
      return {
        kind: 'unknown',
        why: `task ${id} there has made no progress for ${MAX_ANSWER_MS / 60_000} minutes`,
      };
  }
}

function fingerprint(task: PeerTask | undefined): string {
  return task
    ? `${task.state} ${task.statusId} ${task.text.length} ${task.statusText.length} ${task.data.length}`
    : '';
}

async function watchOnce(
  options: FollowOptions,
  contact: PeerContact,
  id: string,
  known: PeerTask | undefined,
  isOver: (task: PeerTask) => boolean,
): Promise<Snapshot> {
  const { client, endpoint, signal, traceparent } = options;
  let task = known;
  try {
    const snapshots = client.watch(endpoint, id, { signal, traceparent, idleTimeoutMs: IDLE_TIMEOUT_MS });
    for await (const snapshot of snapshots) {
      contact.recordAnswer();
      task = snapshot;
      await options.onTask(snapshot);
      if (isOver(snapshot)) return { task, streams: true };
    }
    // Only a peer without a stream for the task closes the stream before the task ends.
    return { task, streams: false };
  } catch (thrown) {
    const error = peerError(signal, thrown);
    options.log.debug({ peer: endpoint.name, err: error }, 'stream from the agent ended early');
    return { task, streams: error.retryable };
  }
}

async function queryTask(
  options: FollowOptions,
  contact: PeerContact,
  id: string,
): Promise<PeerTask | OutcomeUnknown> {
  const { client, endpoint, signal, traceparent } = options;
  for (;;) {
    try {
      const task = await client.getTask(endpoint, id, { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent });
      contact.recordAnswer();
      await options.onTask(task);
      return task;
    } catch (thrown) {
      const error = peerError(signal, thrown);
      if (peerErrorCode(error) === 'TASK_NOT_FOUND')
        return { kind: 'unknown', why: `it does not know its task ${id} any more` };
      if (!error.retryable)
        return { kind: 'unknown', why: `its task ${id} cannot be read (${error.message})` };
      options.onRetry('ask');
      const givenUp = await waitToRetryOrGiveUp(options, contact, error);
      if (givenUp) return givenUp;
    }
  }
}
