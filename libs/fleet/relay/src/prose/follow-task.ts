import { type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs } from '@hermes-fleet/protocol';
import {
  type PeerContact,
  RETRY_BACKOFF,
  readTask,
  type Snapshot,
  watchOnce,
} from '../delegation/peer-contact.ts';
import { isWaitingForCaller } from '../delegation/question-exchange.ts';
import { type FollowOptions, MAX_ANSWER_MS, type OutcomeUnknown, unknownAfter } from './send-once.ts';

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

async function queryTask(
  options: FollowOptions,
  contact: PeerContact,
  id: string,
): Promise<PeerTask | OutcomeUnknown> {
  try {
    return await readTask(options, contact, id);
  } catch (thrown) {
    return unknownAfter(options, thrown, (why) =>
      peerErrorCode(thrown) === 'TASK_NOT_FOUND'
        ? `it does not know its task ${id} any more`
        : `its task ${id} cannot be read (${why})`,
    );
  }
}
