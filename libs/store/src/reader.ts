import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { BUSY_TIMEOUT_MS, openingError } from './database.ts';
import { type StoreSchema, schemaVersion } from './migrate.ts';
import { readFrom, type Store } from './store.ts';

/** A database file that is only looked at, beside its owner or without one. */
export interface Reader extends Pick<Store, 'read'> {
  close(): void;
}

/**
 * Opens a database file for reading: nothing is made, migrated or owned. Throws CONFIG_INVALID, naming the file, for one
 * that is not there, of another kind or of another version of the code, and STORE_UNAVAILABLE.
 */
export function openReader(file: string, schema: StoreSchema): Reader {
  const refuse = (what: string): FleetError => new FleetError('CONFIG_INVALID', `${file} ${what}`);
  if (!existsSync(file)) throw refuse(`does not exist: no ${schema.name} was made there yet`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    const version = schemaVersion(db, schema);
    const known = schema.migrations.length;
    if (version === undefined) throw refuse(`is no ${schema.name}; correct the path`);
    if (version !== known)
      throw refuse(
        `is of schema ${version}, and this version of Hermes Fleet reads ${known}: use the one that wrote it`,
      );
    return { read: readFrom(db, schema.name), close: () => db?.close() };
  } catch (error) {
    db?.close();
    throw openingError(file, error);
  }
}
