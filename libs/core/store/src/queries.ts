import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { integer, type Row } from './row.ts';

/** Statements, prepared once by their text. Texts are constants, which bounds the cache. */
export interface Queries {
  get(sql: string, ...params: SQLInputValue[]): Row | undefined;
  all(sql: string, ...params: SQLInputValue[]): Row[];
  run(sql: string, ...params: SQLInputValue[]): Changed;
  /** Inserts a row, given by its columns. */
  insert(table: string, row: Readonly<Record<string, SQLInputValue>>): Changed;
}

interface Changed {
  readonly changes: number;
  readonly rowid: number;
}

interface Prepared {
  readonly statement: StatementSync;
  readonly canWrite: boolean;
}

/** Words that a statement which only reads does not have. `replace(…)` is a function, `updated_at` a column. */
const READS = /^\s*(?:SELECT|WITH)\b/i;
const WRITES = /\b(?:INSERT|UPDATE|DELETE|REPLACE\s+INTO)\b/i;

/** The statements of one connection. */
export function createStatements(db: DatabaseSync) {
  const cache = new Map<string, Prepared>();
  let writes = 0;

  const prepare = (sql: string): Prepared => {
    const prepared = { statement: db.prepare(sql), canWrite: !READS.test(sql) || WRITES.test(sql) };
    cache.set(sql, prepared);
    return prepared;
  };

  const toWrite = (sql: string): StatementSync => {
    const prepared = cache.get(sql) ?? prepare(sql);
    if (prepared.canWrite) writes += 1;
    return prepared.statement;
  };

  const toRead = (sql: string): StatementSync => {
    const prepared = cache.get(sql) ?? prepare(sql);
    if (prepared.canWrite)
      throw new FleetError('INTERNAL', `a read can only SELECT; write this in a transaction: ${sql}`);
    return prepared.statement;
  };

  const queries = (statement: (sql: string) => StatementSync): Queries => {
    const run: Queries['run'] = (sql, ...params) => {
      const { changes, lastInsertRowid } = statement(sql).run(...params);
      return { changes: Number(changes), rowid: Number(lastInsertRowid) };
    };
    return {
      get: (sql, ...params) => statement(sql).get(...params),
      all: (sql, ...params) => statement(sql).all(...params),
      run,
      insert: (table, row) => {
        const columns = Object.keys(row);
        const values = columns.map(() => '?');
        return run(`INSERT INTO ${table} (${columns}) VALUES (${values})`, ...Object.values(row));
      },
    };
  };

  return {
    /** For transactions. */
    writing: queries(toWrite),
    /** For reads: throws INTERNAL for a statement that could write, because nothing would acknowledge what it writes. */
    reading: queries(toRead),
    /** The number of executions so far of statements that could write, failed ones included. */
    writes: (): number => writes,
  };
}

/** The number that a query of one row with one column gives; 0 without a row. Throws as `integer`. */
export function numberOf(db: Pick<Queries, 'get'>, sql: string, ...params: SQLInputValue[]): number {
  const row = db.get(sql, ...params) ?? {};
  const [column] = Object.keys(row);
  return column === undefined ? 0 : integer(row, column);
}
