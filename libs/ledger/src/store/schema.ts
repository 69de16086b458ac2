import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';

/** "HFLG": tells a ledger from any other SQLite file. */
const APPLICATION_ID = 0x48464c47;

/**
 * The schema as a list of steps, each applied once and in order; `user_version` counts those applied. A published
 * step is never edited: a change is a new step. Rows that change often (tasks) are apart from large bodies
 * (payloads), so that an event does not rewrite a megabyte.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    context_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    traceparent TEXT,
    state TEXT NOT NULL,
    resumes INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_seq INTEGER
  ) STRICT;
  CREATE INDEX tasks_updated ON tasks (updated_at DESC, id);
  CREATE INDEX tasks_caller ON tasks (caller, updated_at DESC, id);
  CREATE INDEX tasks_context ON tasks (context_id, updated_at DESC, id);
  CREATE INDEX tasks_unfinished ON tasks (created_at, id) WHERE ended_seq IS NULL;

  CREATE TABLE payloads (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    dispatch TEXT NOT NULL,
    result TEXT
  ) STRICT;

  CREATE TABLE idempotency (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (caller, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_task ON events (task_id, seq);
  CREATE INDEX events_outbox ON events (seq) WHERE type <> 'text';

  CREATE TABLE outbox (only INTEGER PRIMARY KEY CHECK (only = 1), cursor INTEGER NOT NULL) STRICT;
  INSERT INTO outbox VALUES (1, 0);

  CREATE TABLE checkpoints (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    state TEXT NOT NULL
  ) STRICT;

  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    settled INTEGER NOT NULL,
    kind TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    source TEXT NOT NULL,
    model TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tokens_task ON tokens (task_id, id);

  CREATE TABLE peers (
    agent_id TEXT PRIMARY KEY,
    announce TEXT NOT NULL,
    received_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  'ALTER TABLE peers ADD COLUMN caller TEXT;',
  `
  CREATE TABLE questions (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    question TEXT NOT NULL,
    message_id TEXT,
    message TEXT,
    answer TEXT,
    withdrawn_at INTEGER,
    PRIMARY KEY (task_id, key)
  ) STRICT;
  CREATE UNIQUE INDEX questions_open ON questions (task_id) WHERE message_id IS NULL AND withdrawn_at IS NULL;
  CREATE UNIQUE INDEX questions_answers ON questions (task_id, message_id);
  `,
  `
  ALTER TABLE checkpoints ADD COLUMN growing TEXT;
  ALTER TABLE checkpoints ADD COLUMN saves INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE checkpoint_parts (
    task_id TEXT NOT NULL REFERENCES checkpoints (task_id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (task_id, place)
  ) STRICT;
  `,
];

/**
 * Brings a file up to the newest step, in one transaction. Throws CONFIG_INVALID for a file that a newer version
 * wrote, and for a database that is no ledger; both stay untouched.
 */
export function migrate(db: DatabaseSync, file: string, steps: readonly string[] = MIGRATIONS): void {
  const version = pragma(db, 'user_version');
  const ours = pragma(db, 'application_id') === APPLICATION_ID;
  if (!ours && (version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} is a database, but not a ledger; correct the path or move the file away`,
    );
  }
  if (version > steps.length) {
    throw new FleetError(
      'CONFIG_INVALID',
      `the ledger ${file} was written by a newer version of Hermes Fleet (schema ${version}, this one knows up to ` +
        `${steps.length}); run that version, or restore the copy made before the upgrade`,
    );
  }
  if (version === steps.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of steps.slice(version)) db.exec(step);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${steps.length}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function pragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = db.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === 'number' ? value : 0;
}
