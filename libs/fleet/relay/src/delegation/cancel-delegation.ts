import { type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import type { ErrorCode } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import type { CancelOptions } from './delegate-options.ts';
import { type Delegation, dispatchMessage } from './delegation.ts';
import { answerOf, resultOf } from './remote-result.ts';

/** Three calls of this length fit into the time that an aborted run has to end. */
const CANCEL_TIMEOUT_MS = 3_000;
/** A copy that no peer accepts, but that a peer which has the task answers with it. */
const LONG_AGO = 0;

/** `absent`: the peer does not have the task. `open`: it does not answer, or the task has not ended yet. */
export type Cancellation =
  | { readonly kind: 'ended'; readonly result: TaskResult }
  | { readonly kind: 'absent' | 'open' };

const NOT_THERE: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode | undefined>([
  'DISPATCH_EXPIRED',
  'TASK_NOT_FOUND',
  // Another task has the name there.
  'TASK_ID_CONFLICT',
]);

/**
 * Cancels the task at the peer. An unknown ID is learned by sending the dispatch again with an `accept_until` in the past,
 * which begins nothing at a peer that does not have the task. Bounded in time; never throws.
 */
export async function cancelAtPeer(options: CancelOptions, delegation: Delegation): Promise<Cancellation> {
  const { client, endpoint, traceparent, signal } = options;
  const call = { timeoutMs: CANCEL_TIMEOUT_MS, traceparent, ...(signal ? { signal } : {}) };
  try {
    let id = delegation.remoteTaskId;
    if (id === undefined) {
      const reply = await client.send(endpoint, dispatchMessage(delegation, options, LONG_AGO), call);
      if (reply.kind === 'message') return { kind: 'ended', result: resultOf(answerOf(reply), options) };
      id = reply.task.id;
    }
    const known = id;
    const task = await client
      .cancelTask(endpoint, known, call)
      .catch(() => client.getTask(endpoint, known, call));
    return task.terminal ? readEnd(options, task) : { kind: 'open' };
  } catch (error) {
    if (NOT_THERE.has(peerErrorCode(error))) return { kind: 'absent' };
    options.log.warn({ peer: endpoint.name, err: error }, 'task at the peer could not be canceled');
    return { kind: 'open' };
  }
}

/** The end of a task whose result cannot be read stays so: there is nothing left to wait for. */
function readEnd(options: CancelOptions, task: PeerTask): Cancellation {
  try {
    return { kind: 'ended', result: resultOf(task, options) };
  } catch (error) {
    options.log.warn({ peer: options.endpoint.name, err: error }, 'result of a canceled task cannot be read');
    return { kind: 'absent' };
  }
}

/** Cancels the task at the peer. Returns its result if that can still be read. Bounded in time; never throws. */
export async function cancelDelegation(
  options: CancelOptions,
  delegation: Delegation,
): Promise<TaskResult | undefined> {
  const canceled = await cancelAtPeer(options, delegation);
  return canceled.kind === 'ended' ? canceled.result : undefined;
}
