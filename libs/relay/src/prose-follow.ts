import { type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs } from '@hermes-fleet/protocol';
import { isWaiting } from './dialogue.ts';
import { type Link, peerError } from './link.ts';
import {
  ASK_TIMEOUT_MS,
  awayFor,
  type Following,
  LONGEST_ANSWER_MS,
  PAUSE,
  type Unknown,
} from './prose-exchange.ts';

const IDLE_TIMEOUT_MS = 45_000;

interface Seen {
  readonly task: PeerTask | undefined;
  /** Whether the peer has streams for its tasks. */
  readonly streams: boolean;
}

/**
 * An agent's task until it has ended or waits for its caller: by stream where the agent has one, else by asking, less
 * and less often. A task that nobody knows any more, whose agent stays away, or that does not change for ten minutes
 * is given up: whether it is done is not known. A status of this id, where it has one, is that of a question which has
 * its answer already.
 */
export async function followTask(
  o: Following,
  link: Link,
  from: PeerTask | string,
  answeredStatus?: string,
): Promise<PeerTask | Unknown> {
  const isOver = (task: PeerTask): boolean =>
    task.terminal || (isWaiting(task) && (task.statusId === undefined || task.statusId !== answeredStatus));
  const id = typeof from === 'string' ? from : from.id;
  let seen: Seen = { task: typeof from === 'string' ? undefined : from, streams: true };
  let last = stamp(seen.task);
  let changedAt = o.clock.now();
  for (let turns = 0; ; turns += 1) {
    if (seen.task && isOver(seen.task)) return seen.task;
    if (turns > 0) await o.clock.sleep(backoffMs(turns, { ...PAUSE, random: o.random }), o.signal);
    if (seen.streams) seen = await watchOnce(o, link, id, seen.task, isOver);
    if (seen.task && isOver(seen.task)) return seen.task;
    const asked = await ask(o, link, id);
    if ('why' in asked) return asked;
    seen = { ...seen, task: asked };
    if (stamp(asked) !== last) {
      last = stamp(asked);
      changedAt = o.clock.now();
      turns = 0;
    } else if (o.deadlineAt === undefined && o.clock.now() - changedAt > LONGEST_ANSWER_MS)
      return {
        kind: 'unknown',
        why: `task ${id} there has not moved for ${LONGEST_ANSWER_MS / 60_000} minutes`,
      };
  }
}

function stamp(task: PeerTask | undefined): string {
  return task
    ? `${task.state} ${task.statusId} ${task.text.length} ${task.statusText.length} ${task.data.length}`
    : '';
}

async function watchOnce(
  o: Following,
  link: Link,
  id: string,
  known: PeerTask | undefined,
  isOver: (task: PeerTask) => boolean,
): Promise<Seen> {
  const { signal, traceparent } = o;
  let task = known;
  try {
    const snapshots = o.client.watch(o.endpoint, id, { signal, traceparent, idleTimeoutMs: IDLE_TIMEOUT_MS });
    for await (const snapshot of snapshots) {
      link.contact();
      task = snapshot;
      await o.onTask(snapshot);
      if (isOver(snapshot)) return { task, streams: true };
    }
    // Only a peer that has no stream for the task ends one without its end.
    return { task, streams: false };
  } catch (thrown) {
    const error = peerError(signal, thrown);
    o.log.debug({ peer: o.endpoint.name, err: error }, 'stream from the agent ended early');
    return { task, streams: error.retryable };
  }
}

/** The task as the agent has it now. */
async function ask(o: Following, link: Link, id: string): Promise<PeerTask | Unknown> {
  const { signal, traceparent } = o;
  for (;;) {
    try {
      const task = await o.client.getTask(o.endpoint, id, { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent });
      link.contact();
      await o.onTask(task);
      return task;
    } catch (thrown) {
      const error = peerError(signal, thrown);
      if (peerErrorCode(error) === 'TASK_NOT_FOUND')
        return { kind: 'unknown', why: `it does not know its task ${id} any more` };
      if (!error.retryable)
        return { kind: 'unknown', why: `its task ${id} cannot be read (${error.message})` };
      o.onRetry('ask');
      const away = await awayFor(o, link, error);
      if (away) return away;
    }
  }
}
