import { DatabaseSync } from 'node:sqlite';
import { type Queries, text } from '@hermes-fleet/store';

/** The steps of the plan of each statement that a query of a ledger's file would read with; it finds nothing. */
export function plansOf(file: string, query: (db: Queries) => unknown): string[][] {
  using db = new DatabaseSync(file, { readOnly: true });
  const plans: string[][] = [];
  const all: Queries['all'] = (sql) => {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    plans.push(rows.map((row) => text(row, 'detail')));
    return [];
  };
  query({ get: (sql) => all(sql)[0], all, run: refuse, insert: refuse });
  return plans;
}

/** The number of rows that a query of a ledger's file gets. */
export function rowsOf(file: string, query: (db: Queries) => unknown): number {
  using db = new DatabaseSync(file, { readOnly: true });
  let rows = 0;
  const all: Queries['all'] = (sql, ...params) => {
    const found = db.prepare(sql).all(...params);
    rows += found.length;
    return found;
  };
  query({ get: (sql, ...params) => all(sql, ...params)[0], all, run: refuse, insert: refuse });
  return rows;
}

function refuse(): never {
  throw new Error('the query writes');
}
