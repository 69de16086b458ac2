import { existsSync, lstatSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { isStoreFailure, resultCode, SQLITE } from './errors.ts';
import { checkKind, migrate, type StoreSchema } from './migrate.ts';
import { createStatements, type Queries } from './queries.ts';

/** The maximum wait for a lock of another process (a backup, a shell), in ms; it blocks the event loop. */
export const BUSY_TIMEOUT_MS = 2000;
/** The size of the write-ahead log after a checkpoint. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;
/** Keeps the pages of an index with random keys in memory; SQLite's default of 2 MiB is soon too small. */
const CACHE_KIB = 16 * 1024;
/**
 * The size of the write-ahead log that starts a checkpoint, in pages of 4 kB. One checkpoint writes a page once,
 * however often it changed.
 */
export const CHECKPOINT_PAGES = 4000;

/**
 * Makes SQLite keep the temporary files of a migration and of `Store.rewrite` in `<dir>/tmp` and not in /tmp, which
 * commands may fill; other queries have none. SQLite reads the variable once, when the process opens its first database.
 * One that is set already stays.
 */
export function keepTemporaryFiles(dir: string): void {
  const folder = join(dir, 'tmp');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  process.env.SQLITE_TMPDIR ??= folder;
}

export interface Connections {
  /** Writes, and reads between the batches. */
  readonly writer: DatabaseSync;
  readonly id: string;
  /** The damage found in the file's pages; undefined for an intact file. */
  readonly damage?: string | undefined;
  /** Throws if the file was moved, removed or replaced: SQLite would continue to write to a lost file. */
  readonly assertInPlace: () => void;
}

/**
 * Opens, migrates and identifies a database file. Creates a missing file and its directory, readable by their owner
 * only. Throws CONFIG_INVALID (not a database, emptied, another kind of database, newer than the code, not writable), and
 * leaves the file as it was, or STORE_UNAVAILABLE (locked, disk full); both name the file, and say what to do.
 */
export function openConnections(
  file: string,
  schema: StoreSchema,
  identify: (db: Queries) => string,
  cacheKib = CACHE_KIB,
): Connections {
  let writer: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const finish = beginFile(file);
    writer = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
    // Before anything is written, which setting the mode of the log does.
    checkKind(writer, file, schema);
    enableWal(writer, file, cacheKib);
    migrate(writer, file, schema);
    finish();
    // Not before the migrations: one that makes an index of a large table would sort it in memory.
    writer.exec('PRAGMA temp_store = MEMORY');
    const id = identify(createStatements(writer).writing);
    return { writer, id, damage: damageOf(writer), assertInPlace: inPlaceCheck(file) };
  } catch (error) {
    writer?.close();
    throw openingError(file, error);
  }
}

/**
 * Creates a missing file; the result is called when it has its tables. Until then a mark beside it tells a file whose creation
 * was interrupted, which is empty, from one that has lost its content: SQLite would begin a new database in both. Throws
 * CONFIG_INVALID for the second one, and for what is no file.
 */
function beginFile(file: string): () => void {
  const mark = `${file}.new`;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) {
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      throw new FleetError('CONFIG_INVALID', `${file} is a link to a file that is not there; ${REMEDY}`);
    writeFileSync(mark, '', { mode: 0o600 });
    writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
  } else if (!found.isFile()) throw new FleetError('CONFIG_INVALID', `${file} is not a file; ${REMEDY}`);
  // SQLite takes a file of one byte for an empty one.
  else if (found.size <= 1 && !existsSync(mark))
    throw new FleetError('CONFIG_INVALID', `${file} is empty: what it held is lost; ${REMEDY}`);
  return () => rmSync(mark, { force: true });
}

const REMEDY =
  'correct the path, or restore it from a backup (docs/operations.md#backup-and-restore), or move it away to begin with a new one';

/** The first damage that SQLite's check of all pages finds. Reads the whole file once. */
function damageOf(db: DatabaseSync): string | undefined {
  const found = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check ?? 'ok');
  return found === 'ok' ? undefined : found.replaceAll('\n', ' ');
}

function inPlaceCheck(file: string): () => void {
  const opened = statSync(file);
  return () => {
    const current = statSync(file, { throwIfNoEntry: false });
    if (current?.ino === opened.ino && current.dev === opened.dev) return;
    throw new Error(`${file} was moved, removed or replaced while it was open; put it back, or restart`);
  };
}

/** Throws CONFIG_INVALID on a file system without support for a write-ahead log, such as most network file systems. */
export function enableWal(db: DatabaseSync, file: string, cacheKib = CACHE_KIB): void {
  if (db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode !== 'wal') {
    const message = `${file} is on a file system that cannot hold a write-ahead log; use a local disk`;
    throw new FleetError('CONFIG_INVALID', message);
  }
  db.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`);
  db.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/** Converts an error of opening a database file into one that says what to do. */
export function openingError(file: string, error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const code = resultCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  if (code === SQLITE.notADatabase || code === SQLITE.corrupt) {
    const message = `${file} is not a readable database (${reason}); ${REMEDY}`;
    return new FleetError('CONFIG_INVALID', message, { cause: error });
  }
  if (isStoreFailure(error) && code !== SQLITE.readOnly && code !== SQLITE.cannotOpen) {
    return new FleetError('STORE_UNAVAILABLE', `cannot open ${file}: ${reason}`, { cause: error });
  }
  const message = `cannot open ${file}: ${reason}; its directory must be writable by this user`;
  return new FleetError('CONFIG_INVALID', message, { cause: error });
}
