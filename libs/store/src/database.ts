import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { isStoreFailure, resultCode, SQLITE } from './errors.ts';
import { migrate, type StoreSchema } from './migrate.ts';
import type { Row } from './row.ts';

/** How long a lock held by another process (a backup, a shell) is waited for, in ms; it blocks the event loop. */
export const BUSY_TIMEOUT_MS = 2000;
/** What the write-ahead log is cut back to after a checkpoint. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;
/** Enough that the pages of an index whose keys are random stay in memory; SQLite's own 2 MiB are soon too few. */
const CACHE_KIB = 16 * 1024;
/** How long the write-ahead log grows, in pages of 4 kB: a page that changes again and again goes to the file once for all. */
const CHECKPOINT_PAGES = 4000;

/** Prepared statements by their text, each compiled once. Texts are constants, so the cache is bounded. */
export interface Queries {
  get(sql: string, ...params: SQLInputValue[]): Row | undefined;
  all(sql: string, ...params: SQLInputValue[]): Row[];
  run(sql: string, ...params: SQLInputValue[]): { readonly changes: number; readonly rowid: number };
}

export function createQueries(db: DatabaseSync): Queries {
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    get: (sql, ...params) => prepared(sql).get(...params),
    all: (sql, ...params) => prepared(sql).all(...params),
    run: (sql, ...params) => {
      const { changes, lastInsertRowid } = prepared(sql).run(...params);
      return { changes: Number(changes), rowid: Number(lastInsertRowid) };
    },
  };
}

export interface Connections {
  readonly writer: DatabaseSync;
  /** Read-only, so that it can see nothing but what is committed. */
  readonly reader: DatabaseSync;
  readonly id: string;
  /** Throws where the file was moved, removed or replaced since: SQLite would go on writing to what nobody finds. */
  readonly assertInPlace: () => void;
}

/**
 * Opens a database file, made with its directory when it is not there, readable by its owner only, migrates and identifies it.
 * Throws CONFIG_INVALID (no database, one of another kind, newer than the code, not writable) or STORE_UNAVAILABLE (locked,
 * disk full), both naming the file.
 */
export function openConnections(
  file: string,
  schema: StoreSchema,
  identify: (db: Queries) => string,
): Connections {
  const opened: DatabaseSync[] = [];
  const open = (readOnly: boolean): DatabaseSync => {
    const db = new DatabaseSync(file, {
      readOnly,
      timeout: BUSY_TIMEOUT_MS,
      enableForeignKeyConstraints: true,
    });
    opened.push(db);
    return db;
  };
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (!existsSync(file)) writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
    const writer = open(false);
    enableWal(writer, file);
    migrate(writer, file, schema);
    const id = identify(createQueries(writer));
    return { writer, reader: open(true), id, assertInPlace: inPlace(file) };
  } catch (error) {
    for (const db of opened) db.close();
    throw openingError(file, error);
  }
}

function inPlace(file: string): () => void {
  const opened = statSync(file);
  return () => {
    const now = statSync(file, { throwIfNoEntry: false });
    if (now?.ino === opened.ino && now.dev === opened.dev) return;
    throw new Error(`${file} was moved, removed or replaced while it was open; put it back, or restart`);
  };
}

/** Throws CONFIG_INVALID where a write-ahead log is impossible, as on most network file systems. */
export function enableWal(db: DatabaseSync, file: string): void {
  if (db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode !== 'wal') {
    const message = `${file} is on a file system that cannot hold a write-ahead log; use a local disk`;
    throw new FleetError('CONFIG_INVALID', message);
  }
  db.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`);
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/** Why a database file of ours cannot be opened, as an error that says what to do. */
export function openingError(file: string, error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const code = resultCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  if (code === SQLITE.notADatabase || code === SQLITE.corrupt) {
    const message = `${file} is not a readable database (${reason}); correct the path, or restore it from a backup`;
    return new FleetError('CONFIG_INVALID', message, { cause: error });
  }
  if (isStoreFailure(error) && code !== SQLITE.readOnly && code !== SQLITE.cannotOpen) {
    return new FleetError('STORE_UNAVAILABLE', `cannot open ${file}: ${reason}`, { cause: error });
  }
  const message = `cannot open ${file}: ${reason}; its directory must be writable by this user`;
  return new FleetError('CONFIG_INVALID', message, { cause: error });
}
