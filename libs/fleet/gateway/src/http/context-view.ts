import type { ContextDeletion, ResultsMode } from '@hermes-fleet/ledger';
import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import type { Answer, ContextDeletion as Deletion } from '@hermes-fleet/protocol/api';
import { z } from 'zod';
import { pathProblem } from '../contexts/context-path.ts';

const Query = z.strictObject({ results: z.enum(['keep', 'delete']).default('keep') });

/** The mode in the query of a deletion. Throws INVALID_PARAMS that names every wrong parameter. */
export function resultsIn(query: unknown): ResultsMode {
  const read = Query.safeParse(query);
  if (read.success) return read.data.results;
  const fields = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: key, reason: 'is not known; use results' }))
      : [{ path: fieldPath(issue.path), reason: 'must be keep or delete, once' }],
  );
  const list = fields.map(({ path, reason }) => `${path} ${reason}`).join('; ');
  throw new FleetError('INVALID_PARAMS', `the query is not valid: ${list}`, { fields });
}

/** The context ID in the path of a deletion. Throws INVALID_PARAMS for one that a client's URL parser may remove. */
export function contextIdIn(id: string): string {
  const problem = pathProblem(id);
  if (!problem) return id;
  const reason = `context_id ${problem}: such a context cannot be deleted over HTTP, only the retention removes it`;
  throw new FleetError('INVALID_PARAMS', reason, { fields: [{ path: 'context_id', reason }] });
}

/** A deletion as its caller sees it (docs/operations.md#delete-a-context). */
export function contextDeletionView({
  contextId,
  tasks,
  purged,
  removed,
  peers,
}: ContextDeletion): Answer<typeof Deletion> {
  return {
    context_id: contextId,
    tasks,
    files: removed?.files ?? false,
    result: (purged ? removed?.result : undefined) ?? 'pending',
    peers: peers.map(({ peer, contextId: at, state, detail }) => ({ peer, context_id: at, state, detail })),
  };
}
