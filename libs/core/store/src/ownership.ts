import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { keepTemporaryFiles, openingError } from './database.ts';
import { resultCode, SQLITE } from './errors.ts';

/** Keeps every lock reachable: the lock is lost when its handle is garbage-collected. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Makes this process the only owner of a profile's state until it disposes the result or dies for any reason. Throws
 * PROFILE_ALREADY_SERVED if another process owns the state, CONFIG_INVALID if `dir` is unusable. The same process must
 * not open the lock file in another way: POSIX drops the lock when that handle closes.
 */
export function acquireOwnership({
  dir,
  profile,
}: {
  readonly dir: string;
  readonly profile: string;
}): Disposable {
  const file = join(dir, 'owner.lock');
  let db: DatabaseSync | undefined;
  try {
    keepTemporaryFiles(dir);
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    db?.close();
    if (resultCode(error) !== SQLITE.busy) throw openingError(file, error);
    throw new FleetError(
      'PROFILE_ALREADY_SERVED',
      `profile ${profile} is already served by another gateway process`,
    );
  }
  const lock = db;
  heldLocks.add(lock);
  return {
    [Symbol.dispose]: () => {
      if (heldLocks.delete(lock)) lock.close();
    },
  };
}
