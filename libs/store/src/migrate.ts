import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';

/** What a database file holds. */
export interface StoreSchema {
  /** For messages: `ledger`. */
  readonly name: string;
  /** Tells the file from any other of SQLite. */
  readonly applicationId: number;
  /**
   * The steps, each applied once and in order; `user_version` counts those applied. A published step is never edited: a
   * change is a new step. The first makes `meta (key, value)`, where the file's identity stands.
   */
  readonly migrations: readonly string[];
}

/**
 * Brings a file up to the newest step, in one transaction. Throws CONFIG_INVALID for a file that a newer version
 * wrote, and for a database of another kind; both stay untouched.
 */
export function migrate(db: DatabaseSync, file: string, schema: StoreSchema): void {
  const { name, applicationId, migrations: steps } = schema;
  const version = pragma(db, 'user_version');
  const ours = pragma(db, 'application_id') === applicationId;
  if (!ours && (version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} is a database, but not a ${name}; correct the path or move the file away`,
    );
  }
  if (version > steps.length) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the ${name} ${file} was written by a newer version of Hermes Fleet (schema ${version}, this one knows up to ` +
        `${steps.length}); run that version, or restore the copy made before the upgrade`,
    );
  }
  if (version === steps.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of steps.slice(version)) db.exec(step);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Which step a file is at; undefined for one that holds something else, or nothing yet. */
export const schemaVersion = (db: DatabaseSync, { applicationId }: StoreSchema): number | undefined =>
  pragma(db, 'application_id') === applicationId ? pragma(db, 'user_version') : undefined;

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = db.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === 'number' ? value : 0;
}
