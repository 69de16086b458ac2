import { type A2AClient, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a/client';
import { FleetError } from '@hermes-fleet/protocol';
import type { Reachable } from '../command-line/reachable.ts';

const CALL_MS = 15_000;

/**
 * Asks one profile after the other for a task of the operator, or the one agent for a task. When none has it, throws the
 * first refusal for another reason, else PEER_UNREACHABLE when none answers, else TASK_NOT_FOUND.
 */
export async function findTask(
  client: A2AClient,
  among: readonly Reachable[],
  id: string,
): Promise<{ readonly at: Reachable; readonly task: PeerTask }> {
  const silent: string[] = [];
  let refusal: FleetError | undefined;
  for (const at of among) {
    try {
      return { at, task: await client.getTask(at.endpoint, id, { timeoutMs: CALL_MS }) };
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      if (error.code === 'PEER_UNREACHABLE' && at.target === undefined) throw error;
      if (error.code === 'PEER_UNREACHABLE') silent.push(at.name);
      else if (peerErrorCode(error) !== 'TASK_NOT_FOUND') refusal ??= error;
    }
  }
  if (refusal) throw refusal;
  const names = among.map(({ name }) => name).join(', ');
  if (silent.length === among.length) throw new FleetError('PEER_UNREACHABLE', `no answer of ${names}`);
  const rest = silent.length === 0 ? '' : `; ${silent.join(', ')} did not answer`;
  throw new FleetError('TASK_NOT_FOUND', `${names}: no such task of yours: ${id}${rest}`);
}
