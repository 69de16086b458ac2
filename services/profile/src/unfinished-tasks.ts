import type { Ledger } from '@hermes-fleet/ledger';
import { isJsonObject } from '@hermes-fleet/protocol';

/** The tasks that are not over, each with the root of its chain: what they keep on disk stays. */
export function unfinishedTasks(
  ledger: Pick<Ledger, 'unfinished'>,
): { readonly id: string; readonly rootId: string }[] {
  return ledger.unfinished().map(({ id, key, dispatch: { task } }) => {
    const root = isJsonObject(task) ? (task.root_id ?? task.task_id) : undefined;
    return { id, rootId: typeof root === 'string' ? root : key };
  });
}
