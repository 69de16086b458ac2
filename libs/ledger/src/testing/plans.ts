import { DatabaseSync } from 'node:sqlite';
import { text } from '@hermes-fleet/store';

type Query = (db: { get: (sql: string) => undefined; all: (sql: string) => []; run: () => never }) => unknown;

/** The steps of the plan of each statement that a query of a ledger's file would read with; it finds nothing. */
export function plansOf(file: string, query: Query): string[][] {
  using db = new DatabaseSync(file, { readOnly: true });
  const plans: string[][] = [];
  const plan = (sql: string): void => {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    plans.push(rows.map((row) => text(row, 'detail')));
  };
  query({
    get: (sql) => void plan(sql),
    all: (sql) => {
      plan(sql);
      return [];
    },
    run: () => {
      throw new Error('the query writes');
    },
  });
  return plans;
}
