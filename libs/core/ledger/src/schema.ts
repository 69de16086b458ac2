import type { StoreSchema } from '@hermes-fleet/store';
import { STEP_8 } from './schema-8.ts';
import { STEP_9 } from './schema-9.ts';
import { STEP_10 } from './schema-10.ts';
import { STEP_11 } from './schema-11.ts';
import { STEP_12 } from './schema-12.ts';

/**
 * The schema as a list of steps, applied once and in order. A published step is never edited: a change is a new step.
 */
const MIGRATIONS: readonly string[] = [
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
  `
  ALTER TABLE tokens ADD COLUMN tier TEXT;
  CREATE TABLE totals (
    counter TEXT NOT NULL,
    labels TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (counter, labels)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE spending (
    day TEXT NOT NULL,
    caller TEXT NOT NULL,
    kind TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cache_tokens INTEGER NOT NULL,
    PRIMARY KEY (day, caller, kind)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE context_deletions (
    context_id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    results TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    purged INTEGER NOT NULL DEFAULT 0,
    had_files INTEGER,
    result TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE context_deletion_peers (
    context_id TEXT NOT NULL REFERENCES context_deletions (context_id) ON DELETE CASCADE,
    peer TEXT NOT NULL,
    peer_context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT,
    is_agent INTEGER NOT NULL,
    PRIMARY KEY (context_id, peer, peer_context_id, is_agent)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE context_callers (
    context_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    remembered_at INTEGER NOT NULL,
    PRIMARY KEY (context_id, caller)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE context_caller_peers (
    context_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    peer TEXT NOT NULL,
    kind TEXT NOT NULL,
    peer_context_id TEXT NOT NULL,
    PRIMARY KEY (context_id, caller, peer, kind, peer_context_id),
    FOREIGN KEY (context_id, caller) REFERENCES context_callers (context_id, caller) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE erased_events (
    seq INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL,
    key TEXT NOT NULL,
    caller TEXT NOT NULL,
    context_id TEXT NOT NULL,
    traceparent TEXT
  ) STRICT;
  INSERT INTO meta VALUES ('subtasks_secret', lower(hex(randomblob(32))));
  `,
  `
  CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    context_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    name TEXT NOT NULL,
    ended_at INTEGER NOT NULL,
    is_whole INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    result TEXT NOT NULL,
    UNIQUE (context_id, caller, name)
  ) STRICT;
  CREATE INDEX conversations_ended ON conversations (ended_at);
  CREATE TABLE conversation_parts (
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (conversation, place)
  ) STRICT;
  `,
  STEP_8,
  STEP_9,
  STEP_10,
  STEP_11,
  STEP_12,
];

/** `applicationId` is "HFLG". */
export const LEDGER: StoreSchema = { name: 'ledger', applicationId: 0x48464c47, migrations: MIGRATIONS };
