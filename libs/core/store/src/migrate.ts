import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';

/** The schema of a database file. */
export interface StoreSchema {
  /** The name in messages: `ledger`. */
  readonly name: string;
  /** SQLite's `application_id`: identifies the kind of the file. */
  readonly applicationId: number;
  /**
   * The steps, each applied once and in order; `user_version` counts the applied ones. A published step is never
   * edited: a change is a new step. The first step creates `meta (key, value)`, which holds the file's identity.
   */
  readonly migrations: readonly string[];
  /**
   * Older versions that can be read without a migration: temporary tables and views that stand for what they lack. They
   * hide tables of the file with the same names, which are `main.<name>` there.
   */
  readonly readableAs?: Readonly<Record<number, string>>;
}

/**
 * Returns the number of steps that were applied to a file. Throws CONFIG_INVALID for a file of a newer version, and for
 * another kind of database. Changes nothing.
 */
export function checkKind(db: DatabaseSync, file: string, schema: StoreSchema): number {
  const { name, applicationId, migrations: steps } = schema;
  const version = pragma(db, 'user_version');
  const isOurs = pragma(db, 'application_id') === applicationId;
  if (!isOurs && (version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} is a database, but not a ${name}; correct the path or move the file away`,
    );
  }
  if (version > steps.length) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the ${name} ${file} was written by a newer version of Hermes Fleet (schema ${version}, this one supports up to ` +
        `${steps.length}); run that version, or restore the backup from before the upgrade`,
    );
  }
  return version;
}

/** Applies the missing steps in one transaction. Throws as `checkKind`. */
export function migrate(db: DatabaseSync, file: string, schema: StoreSchema): void {
  const { applicationId, migrations: steps } = schema;
  const version = checkKind(db, file, schema);
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

/** The number of steps applied to a file; undefined for another kind of file, and for an empty one. */
export const schemaVersion = (db: DatabaseSync, { applicationId }: StoreSchema): number | undefined =>
  pragma(db, 'application_id') === applicationId ? pragma(db, 'user_version') : undefined;

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = db.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === 'number' ? value : 0;
}
