import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { openingError } from './database.ts';
import { resultCode, SQLITE } from './errors.ts';

/** Keeps every held lock reachable: a handle that is garbage-collected lets go of it. */
const held = new Set<DatabaseSync>();

/**
 * Makes this process the one owner of a profile's state until it disposes the result or dies, however it dies (design
 * 1, Process roles). Throws PROFILE_ALREADY_SERVED when another one owns it, CONFIG_INVALID when `dir` can't be used.
 * The lock file must not be opened by other means in the same process: POSIX drops the lock when that handle closes.
 */
export function acquireOwnership(o: { readonly dir: string; readonly profile: string }): Disposable {
  const file = join(o.dir, 'owner.lock');
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(o.dir, { recursive: true, mode: 0o700 });
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    db?.close();
    if (resultCode(error) !== SQLITE.busy) throw openingError(file, error);
    throw new FleetError(
      'PROFILE_ALREADY_SERVED',
      `profile ${o.profile} is already served by another gateway process`,
    );
  }
  const lock = db;
  held.add(lock);
  return {
    [Symbol.dispose]: () => {
      if (held.delete(lock)) lock.close();
    },
  };
}
