import { integer, type Queries } from '@hermes-fleet/store';
import type { TaskRecord } from './task-rows.ts';
import { nodesOf, treesOf, WHOLE_PART } from './task-tree.ts';

/** Tokens at the time at which an event told them. */
export interface TokensAt {
  readonly at: number;
  readonly tokens: number;
}

/** The tasks of a tree, and when they have spent their tokens. */
export interface TreeSpending {
  readonly root: TaskRecord;
  readonly nodes: readonly TaskRecord[];
  readonly spent: readonly TokensAt[];
}

/** What some tasks, each with all its parts, have spent over time. */
export function treesSpending(db: Queries, roots: readonly TaskRecord[]): TreeSpending[] {
  return treesOf(db, roots, WHOLE_PART).map((tree) => {
    const nodes = nodesOf(tree);
    return { root: tree.task, nodes, spent: nodes.flatMap((node) => spentBy(db, node)) };
  });
}

/** Tokens that no event of its progress told are those of its end. */
function spentBy(db: Queries, { n, ownTokens, endedAt }: TaskRecord): TokensAt[] {
  const told = db
    .all(
      `SELECT at, coalesce(json_extract(data, '$.usage.input_tokens'), 0)
         + coalesce(json_extract(data, '$.usage.output_tokens'), 0) AS tokens
       FROM events WHERE task = ? AND type = 'progress' AND json_type(data, '$.usage') = 'object'
         AND json_type(data, '$.part') IS NULL`,
      n,
    )
    .map((row) => ({ at: integer(row, 'at'), tokens: integer(row, 'tokens') }));
  const rest = ownTokens - told.reduce((sum, { tokens }) => sum + tokens, 0);
  return endedAt === null || rest <= 0 ? told : [...told, { at: endedAt, tokens: rest }];
}
