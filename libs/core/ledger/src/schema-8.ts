/**
 * Step 8 of the schema. A task is written twice: its row when it is accepted, and the row of its ending. What changes
 * meanwhile is in `unfinished`, which stays small, so that a change of state rewrites no index and no large row. Ended
 * tasks are listed and counted from `endings_listed` and `ended_counts`.
 *
 * The numbers of tasks are the rowids of the old table, which follow the order of acceptance. The copy reads and writes in
 * that order, so that its memory is bounded by SQLite's page cache.
 */
export const STEP_8 = `
  ALTER TABLE tasks RENAME TO old_tasks;
  ALTER TABLE payloads RENAME TO old_payloads;
  ALTER TABLE events RENAME TO old_events;
  ALTER TABLE checkpoints RENAME TO old_checkpoints;
  ALTER TABLE checkpoint_parts RENAME TO old_checkpoint_parts;
  ALTER TABLE tokens RENAME TO old_tokens;
  ALTER TABLE questions RENAME TO old_questions;
  DROP INDEX questions_open;
  DROP INDEX questions_answers;

  -- A dispatch that is a data part of its message is stored once: dispatch_part is the part's place. Not in the copy, if
  -- SQLite rejects the message, which it does when JSON is nested more than 1,000 deep. The fingerprint is
  -- that of the idempotency key, and NULL once the key is free.
  CREATE TABLE tasks (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    context_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT,
    traceparent TEXT,
    created_at INTEGER NOT NULL,
    dispatch_part INTEGER,
    dispatch TEXT CHECK ((dispatch IS NULL) <> (dispatch_part IS NULL)),
    message TEXT NOT NULL
  ) STRICT;
  INSERT INTO tasks
    SELECT t.rowid, t.id, t.context_id, t.caller, t.key, i.fingerprint, t.traceparent, t.created_at,
      iif(iif(json_valid(p.message), json_extract(p.message, '$.parts[0].data'), NULL) = p.dispatch, 0, NULL),
      iif(iif(json_valid(p.message), json_extract(p.message, '$.parts[0].data'), NULL) = p.dispatch, NULL, p.dispatch),
      p.message
    FROM old_tasks t NOT INDEXED CROSS JOIN old_payloads p ON p.task_id = t.id
      LEFT JOIN idempotency i ON i.task_id = t.id
    ORDER BY t.rowid;
  CREATE UNIQUE INDEX tasks_key ON tasks (caller, key) WHERE fingerprint IS NOT NULL;
  CREATE INDEX tasks_of_context ON tasks (context_id, caller);

  CREATE TABLE unfinished (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    caller TEXT NOT NULL,
    state TEXT NOT NULL,
    resumes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  INSERT INTO unfinished
    SELECT rowid, caller, state, resumes, updated_at FROM old_tasks WHERE ended_seq IS NULL ORDER BY rowid;

  CREATE TABLE endings (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    caller TEXT NOT NULL,
    state TEXT NOT NULL,
    resumes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    result TEXT
  ) STRICT;
  -- Ascending, although lists begin with the latest: an ending is then added to the last page, which is not split.
  CREATE INDEX endings_listed ON endings (caller, state, updated_at);
  INSERT INTO endings
    SELECT t.rowid, t.caller, t.state, t.resumes, t.updated_at, t.ended_seq, p.result
    FROM old_tasks t NOT INDEXED CROSS JOIN old_payloads p ON p.task_id = t.id
    WHERE t.ended_seq IS NOT NULL ORDER BY t.rowid;

  -- How many ended tasks were last updated in each hour and in each minute: bucket * width is its beginning in ms.
  CREATE TABLE ended_counts (
    caller TEXT NOT NULL,
    state TEXT NOT NULL,
    width INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (caller, state, width, bucket)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO ended_counts
    SELECT caller, state, width, (updated_at - (updated_at % width + width) % width) / width AS bucket, 1
    FROM (SELECT 3600000 AS width UNION ALL SELECT 60000) CROSS JOIN endings INDEXED BY endings_listed
    WHERE true
    ON CONFLICT DO UPDATE SET tasks = tasks + 1;

  -- Whoever inserts gives the sequence: AUTOINCREMENT would write a page of its own in each transaction.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_of_task ON events (task);
  INSERT INTO events
    SELECT e.seq, t.n, e.type, e.at, e.data
    FROM old_events e NOT INDEXED CROSS JOIN tasks t ON t.id = e.task_id ORDER BY e.seq;

  -- Of the events after the cursor, those up to counted_to are counted.
  ALTER TABLE outbox ADD COLUMN counted_to INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE outbox ADD COLUMN unpublished INTEGER NOT NULL DEFAULT 0;
  UPDATE outbox SET counted_to =
    max(cursor, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'old_events'), 0));
  UPDATE outbox SET unpublished =
    (SELECT count(*) FROM events WHERE seq > outbox.cursor AND type <> 'text')
    + (SELECT count(*) FROM erased_events WHERE seq > outbox.cursor);

  CREATE TABLE checkpoints (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    state TEXT NOT NULL,
    growing TEXT,
    saves INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  INSERT INTO checkpoints
    SELECT t.n, c.state, c.growing, c.saves FROM old_checkpoints c JOIN tasks t ON t.id = c.task_id;
  CREATE TABLE checkpoint_parts (
    task INTEGER NOT NULL REFERENCES checkpoints (task) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (task, place)
  ) STRICT;
  INSERT INTO checkpoint_parts
    SELECT t.n, c.place, c.part FROM old_checkpoint_parts c JOIN tasks t ON t.id = c.task_id ORDER BY c.rowid;

  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    settled INTEGER NOT NULL,
    kind TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    source TEXT NOT NULL,
    model TEXT NOT NULL,
    tier TEXT
  ) STRICT;
  CREATE INDEX tokens_of_task ON tokens (task);
  INSERT INTO tokens
    SELECT o.id, t.n, o.settled, o.kind, o.input_tokens, o.output_tokens, o.cache_read_tokens, o.cache_write_tokens,
      o.source, o.model, o.tier
    FROM old_tokens o NOT INDEXED CROSS JOIN tasks t ON t.id = o.task_id ORDER BY o.id;

  CREATE TABLE questions (
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    question TEXT NOT NULL,
    message_id TEXT,
    message TEXT,
    answer TEXT,
    withdrawn_at INTEGER,
    PRIMARY KEY (task, key)
  ) STRICT;
  CREATE UNIQUE INDEX questions_open ON questions (task) WHERE message_id IS NULL AND withdrawn_at IS NULL;
  CREATE UNIQUE INDEX questions_answers ON questions (task, message_id);
  INSERT INTO questions
    SELECT t.n, q.key, q.seq, q.asked_at, q.question, q.message_id, q.message, q.answer, q.withdrawn_at
    FROM old_questions q JOIN tasks t ON t.id = q.task_id;

  -- Children first: a table that others refer to is emptied row by row before it is dropped.
  DROP TABLE old_checkpoint_parts;
  DROP TABLE old_checkpoints;
  DROP TABLE old_questions;
  DROP TABLE old_tokens;
  DROP TABLE old_events;
  DROP TABLE idempotency;
  DROP TABLE old_payloads;
  DROP TABLE old_tasks;
  `;
