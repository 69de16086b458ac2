import type { LedgerContexts } from '@hermes-fleet/ledger';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

/** The statuses of an attempt in which the peer began the work. */
const WORKED: ReadonlySet<string> = new Set(['done', 'partial', 'error']);
/** How many of a context's last tasks are searched for one that a peer did. */
const SEARCHED = 10;

const Done = z.object({
  status: z.enum(['done', 'partial', 'error']),
  attempts: z.array(z.object({ peer: z.string(), status: z.string(), peer_task_id: z.string().optional() })),
});

/**
 * The peer that did the last task of this context for this caller, and so has its workspace and its conversation
 * (docs/handshake.md#capacity); undefined for a context that begins.
 */
export function homeOf(
  contexts: Pick<LedgerContexts, 'latestResults'>,
  { contextId, caller }: Pick<AdmittedTask, 'contextId' | 'caller'>,
): string | undefined {
  return contexts
    .latestResults(contextId, caller.name, SEARCHED)
    .map((result) => workerOf(result)?.peer)
    .find((peer) => peer !== undefined);
}

/** The last attempt of a TASK_RESULT in which a peer did the work; undefined for a task that no peer did. */
export function workerOf(result: JsonObject) {
  return Done.safeParse(result).data?.attempts.findLast(({ status }) => WORKED.has(status));
}
