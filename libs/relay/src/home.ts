import type { Ledger, TaskRecord } from '@hermes-fleet/ledger';
import type { AdmittedTask } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** The statuses of an attempt in which the peer began the work. */
const WORKED: ReadonlySet<string> = new Set(['done', 'partial', 'error']);
/** How many of a context's last tasks are searched for one that a peer did. */
const SEARCHED = 10;

const Done = z.object({
  status: z.enum(['done', 'partial', 'error']),
  attempts: z.array(z.object({ peer: z.string(), status: z.string() })),
});

/**
 * The peer that did the last task of this context for this caller, and so has its workspace and its conversation
 * (docs/handshake.md#capacity); undefined for a context that begins.
 */
export function homeOf(
  ledger: Pick<Ledger, 'list'>,
  { id, contextId, caller }: Pick<AdmittedTask, 'id' | 'contextId' | 'caller'>,
): string | undefined {
  const { tasks } = ledger.list({ contextId, caller: caller.name, pageSize: SEARCHED });
  return tasks
    .filter((task) => task.id !== id)
    .map(peerOf)
    .find((peer) => peer !== undefined);
}

function peerOf({ result }: TaskRecord): string | undefined {
  return Done.safeParse(result).data?.attempts.findLast(({ status }) => WORKED.has(status))?.peer;
}
