import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';

/** The schema of a database file. */
export interface StoreSchema {
  /** The name in messages: `ledger`. */
  readonly name: string;
  /** SQLite's `application_id`: identifies the kind of the file. */
  readonly applicationId: number;
  /** The version that the first step makes, 1 without it. Files of older ones are refused: they were never released. */
  readonly firstVersion?: number;
  /**
   * The steps. The first one makes all tables of an empty file, with `meta (key, value)`, which holds the file's identity.
   * Each further one raises the version by one, and is applied once to a file of the version before; `user_version` is the
   * version. A published step is never edited: a change is a new step.
   */
  readonly migrations: readonly string[];
}

/** The version of a file to which all steps were applied. */
export const versionOf = ({ firstVersion = 1, migrations }: StoreSchema): number =>
  firstVersion + migrations.length - 1;

/**
 * Returns the version of a file, 0 for an empty one. Throws CONFIG_INVALID for a file of a newer version or of one that was
 * never released, and for another kind of database. Changes nothing.
 */
export function checkKind(db: DatabaseSync, file: string, schema: StoreSchema): number {
  const { name, applicationId, firstVersion = 1 } = schema;
  const invalid = (problem: string): FleetError => new FleetError('CONFIG_INVALID', problem);
  const version = pragma(db, 'user_version');
  const latest = versionOf(schema);
  const isOurs = pragma(db, 'application_id') === applicationId;
  if (!isOurs && (version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined))
    throw invalid(`${file} is a database, but not a ${name}; correct the path or move the file away`);
  if (version > latest)
    throw invalid(
      `the ${name} ${file} was written by a newer version of Hermes Fleet (schema ${version}, this one supports up to ` +
        `${latest}); run that version, or restore the backup from before the upgrade`,
    );
  if (version !== 0 && version < firstVersion)
    throw invalid(
      `the ${name} ${file} was written by a build before 0.2.0, which was never released (schema ${version}, this version ` +
        `reads ${firstVersion} and later); run that build, or move the file away, with its -wal, to begin with a new one`,
    );
  return version;
}

/** Applies the missing steps in one transaction. Throws as `checkKind`. */
export function migrate(db: DatabaseSync, file: string, schema: StoreSchema): void {
  const { applicationId, firstVersion = 1, migrations: steps } = schema;
  const version = checkKind(db, file, schema);
  const latest = versionOf(schema);
  if (version === latest) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of steps.slice(version === 0 ? 0 : version - firstVersion + 1)) db.exec(step);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${latest}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** The version of a file; undefined for another kind of file, and for an empty one. */
export const schemaVersion = (db: DatabaseSync, { applicationId }: StoreSchema): number | undefined =>
  pragma(db, 'application_id') === applicationId ? pragma(db, 'user_version') : undefined;

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = db.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === 'number' ? value : 0;
}
