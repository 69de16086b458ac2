import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { BUSY_TIMEOUT_MS } from './database.ts';
import { isStoreFailure } from './errors.ts';
import { integer } from './row.ts';

const MB = 1_000_000;

/** The free space of a folder's disk, in bytes. */
function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** See `Store.rewrite`. `name` is the name of the store in messages. */
export function rewriteFile(db: DatabaseSync, name: string, freeBytes = freeBytesOf): void {
  const what = `the ${name} cannot be rewritten`;
  withoutWaiting(db, what, () => {
    const size = db.prepare(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
    );
    const needed = 2 * integer(size.get() ?? {}, 'bytes');
    const free = freeBytes(dirname(db.location() ?? ''));
    if (free < needed) {
      const reason = `its disk has ${Math.floor(free / MB)} MB left, and that needs ${Math.ceil(needed / MB)} MB`;
      throw unavailable(what, reason);
    }
    // `secure_delete` is not enough: in most trials with it, deleted text could still be found in the file.
    // On the disk, because the temporary copy of a large file does not fit into memory.
    db.exec('PRAGMA temp_store = FILE');
    try {
      db.exec('VACUUM');
    } finally {
      db.exec('PRAGMA temp_store = MEMORY');
    }
  });
}

/** See `Store.emptyLog`. `awaitCheckpoint` blocks until the thread of the store checkpoints no more; false if it still does. */
export function emptyLog(db: DatabaseSync, name: string, awaitCheckpoint: () => boolean): void {
  const what = `the write-ahead log of the ${name} cannot be emptied`;
  if (!awaitCheckpoint()) throw unavailable(what, 'a checkpoint is running');
  withoutWaiting(db, what, () => {
    if (db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0)
      throw unavailable(what, 'another process reads the file');
  });
}

/** Runs SQL that does not wait for locks of other processes, because a backup can hold one for minutes. */
function withoutWaiting(db: DatabaseSync, what: string, run: () => void): void {
  try {
    db.exec('PRAGMA busy_timeout = 0');
    run();
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    throw unavailable(what, error instanceof Error ? error.message : String(error), error);
  } finally {
    if (db.isOpen) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

function unavailable(what: string, reason: string, cause?: unknown): FleetError {
  return new FleetError('STORE_UNAVAILABLE', `${what} (${reason}); try again later`, { cause });
}
