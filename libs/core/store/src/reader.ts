import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { BUSY_TIMEOUT_MS, openingError } from './database.ts';
import { type StoreSchema, schemaVersion, versionOf } from './migrate.ts';
import { createStatements } from './queries.ts';
import { readFrom, type Store } from './store.ts';

/** Read-only access to a database file, with or without a running owner. */
export interface Reader extends Pick<Store, 'read'> {
  close(): void;
}

/**
 * Opens a database file for reading, without creating, migrating or owning it. Throws CONFIG_INVALID for a file that is
 * missing, of another kind or of another schema version, and STORE_UNAVAILABLE; both name the file.
 */
export function openReader(file: string, schema: StoreSchema): Reader {
  const invalid = (problem: string): FleetError => new FleetError('CONFIG_INVALID', `${file} ${problem}`);
  if (!existsSync(file)) throw invalid(`does not exist: no ${schema.name} has been created there yet`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    const version = schemaVersion(db, schema);
    const supported = versionOf(schema);
    if (version === undefined) throw invalid(`is not a ${schema.name}; correct the path`);
    if (version !== supported)
      throw invalid(
        `has schema ${version}, and this version of Hermes Fleet reads ${supported}: use the version that wrote it`,
      );
    db.exec('PRAGMA temp_store = MEMORY');
    const reading = readFrom(db, createStatements(db).reading, schema.name);
    return { read: inOneState(db, reading), close: () => db?.close() };
  } catch (error) {
    db?.close();
    throw openingError(file, error);
  }
}

/** All queries of a read see the same state of the file, also while its owner writes. */
const inOneState =
  (db: DatabaseSync, read: Store['read']): Store['read'] =>
  (query) =>
    read((queries) => {
      db.exec('BEGIN');
      try {
        return query(queries);
      } finally {
        db.exec('COMMIT');
      }
    });
