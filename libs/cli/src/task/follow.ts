import { type A2AClient, type PeerEndpoint, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a/client';
import { FleetError, isAsking } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

export interface FollowOptions {
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly peer: PeerEndpoint;
  /** False for an agent without streams, which is asked every two seconds. */
  readonly streams: boolean;
  readonly signal: AbortSignal;
  /** Is called with every snapshot. */
  readonly onUpdate: (task: PeerTask) => void;
}

/** Longer than the heartbeat of a stream. */
export const IDLE_MS = 120_000;
const CALL_MS = 30_000;
const POLL_MS = 2_000;
/** How often a stream that breaks is opened again without news; the waits add up to about a minute. */
export const MAX_FAILURES = 8;
const MAX_WAIT_MS = 15_000;

/** The wait after the nth failure in a row, in milliseconds. */
export const waitAfter = (failures: number): number => Math.min(2 ** failures * 250, MAX_WAIT_MS);

/**
 * Follows a task until it ends or asks its caller, and resolves with it. After a stream that ends or breaks, the agent is
 * asked for the task before it is watched again, because not every agent streams a task that has ended meanwhile. Rejects
 * with the error of the last attempt, and with the signal's reason. Attempts are bounded also where the agent answers the
 * question for the task, and only its stream fails.
 */
export async function followTask(
  options: FollowOptions,
  id: string,
  first?: AsyncIterable<PeerTask>,
): Promise<PeerTask> {
  const { clock, signal } = options;
  let failures = 0;
  const hasNews = (): void => {
    failures = 0;
  };
  let source = first ?? resume(options, id, hasNews);
  for (; ; source = resume(options, id, hasNews)) {
    try {
      for await (const task of source) {
        options.onUpdate(task);
        if (task.terminal || isAsking(task.state)) return task;
      }
      hasNews();
      if (source !== first) await clock.sleep(POLL_MS, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const isPassing = error instanceof FleetError && (error.code === 'PEER_UNREACHABLE' || error.retryable);
      failures += 1;
      if (!isPassing || failures > MAX_FAILURES) throw error;
      await clock.sleep(waitAfter(failures), signal);
    }
  }
}

/** The task as it is now, and then what happens to it, which is news; without streams, it is only asked for. */
async function* resume(options: FollowOptions, id: string, hasNews: () => void): AsyncGenerator<PeerTask> {
  const { client, peer, signal, streams } = options;
  const task = await client.getTask(peer, id, { timeoutMs: CALL_MS, signal });
  yield task;
  if (task.terminal || !streams) return;
  try {
    for await (const next of client.watch(peer, id, { signal, idleTimeoutMs: IDLE_MS })) {
      hasNews();
      yield next;
    }
  } catch (error) {
    if (!['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND'].includes(peerErrorCode(error) ?? '')) throw error;
  }
}
