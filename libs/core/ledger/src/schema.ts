import type { StoreSchema } from '@hermes-fleet/store';

/**
 * The schema of a ledger. Times are ms since the epoch, and JSON is text. A task is written twice: its row in `tasks` when it
 * is accepted, and its row in `endings`. What changes meanwhile is in `unfinished`, which stays small, so that a change of
 * state rewrites no index and no large row.
 *
 * It is the first published schema and stays as it is: a change is a step behind it.
 */
const FIRST = `
  -- The identity of the file, and the secret from which the contexts of subtasks have their names.
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('subtasks_secret', lower(hex(randomblob(32))));

  -- The numbers follow the order of acceptance. A dispatch that is a data part of its message is stored once: dispatch_part
  -- is the part's place. The fingerprint is that of the idempotency key, and NULL once the key is free.
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
  CREATE UNIQUE INDEX tasks_key ON tasks (caller, key) WHERE fingerprint IS NOT NULL;
  CREATE INDEX tasks_of_context ON tasks (context_id, caller);

  -- To which chain of tasks a task belongs, for its events (docs/events.md#the-body). Only a task that another one sent on,
  -- or that names another root, has a row. A column behind the message would be read through the whole message.
  CREATE TABLE lineages (task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE, fields TEXT NOT NULL) STRICT;

  CREATE TABLE unfinished (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    caller TEXT NOT NULL,
    state TEXT NOT NULL,
    resumes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;

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

  -- How many ended tasks were last updated in each hour and in each minute: bucket * width is its beginning in ms.
  CREATE TABLE ended_counts (
    caller TEXT NOT NULL,
    state TEXT NOT NULL,
    width INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (caller, state, width, bucket)
  ) STRICT, WITHOUT ROWID;

  -- Whoever inserts gives the sequence: AUTOINCREMENT would write a page of its own in each transaction.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_of_task ON events (task);

  -- The events that the bus has not acknowledged of tasks that were erased with their context.
  CREATE TABLE erased_events (
    seq INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL,
    key TEXT NOT NULL,
    caller TEXT NOT NULL,
    context_id TEXT NOT NULL,
    traceparent TEXT,
    lineage TEXT
  ) STRICT;

  -- The cursor is the last event that the bus has acknowledged. Of those after it, the ones up to counted_to are counted.
  CREATE TABLE outbox (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    cursor INTEGER NOT NULL,
    counted_to INTEGER NOT NULL DEFAULT 0,
    unpublished INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  INSERT INTO outbox VALUES (1, 0, 0, 0);

  -- What a task continues from. The part of the state that grows is a list, whose elements are saved one by one.
  CREATE TABLE checkpoints (
    task INTEGER PRIMARY KEY REFERENCES tasks (n) ON DELETE CASCADE,
    state TEXT NOT NULL,
    growing TEXT,
    saves INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE checkpoint_parts (
    task INTEGER NOT NULL REFERENCES checkpoints (task) ON DELETE CASCADE,
    place INTEGER NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (task, place)
  ) STRICT;

  -- One row for each model call; reasoning_tokens are a part of output_tokens.
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
    tier TEXT,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX tokens_of_task ON tokens (task);

  -- Sums that outlive their tasks: the counters of metrics, and the spending of days.
  CREATE TABLE totals (
    counter TEXT NOT NULL, labels TEXT NOT NULL, value INTEGER NOT NULL,
    PRIMARY KEY (counter, labels)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE spending (
    day TEXT NOT NULL,
    caller TEXT NOT NULL,
    kind TEXT NOT NULL,
    tokens INTEGER NOT NULL, cache_tokens INTEGER NOT NULL,
    PRIMARY KEY (day, caller, kind)
  ) STRICT, WITHOUT ROWID;

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

  -- A chunk of an artifact belongs to its 'artifact' event, which does not have the content: events are published. The parts
  -- that replies refer to have their content in a table of its own, so that a reply reads none of it.
  CREATE TABLE artifacts (
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    artifact_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    replaces INTEGER NOT NULL,
    is_last INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    inline_bytes INTEGER NOT NULL,
    part_count INTEGER NOT NULL,
    name TEXT,
    description TEXT,
    parts TEXT NOT NULL,
    PRIMARY KEY (task, seq)
  ) STRICT;
  CREATE TABLE artifact_contents (
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL, part INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (task, seq, part)
  ) STRICT;

  -- The push notification configs of tasks (docs/push.md). A config that replaces another has a new number, and no number is
  -- used twice, so that a late write of a delivery changes nothing.
  CREATE TABLE push_configs (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    id TEXT NOT NULL,
    version TEXT NOT NULL,
    url TEXT NOT NULL,
    token TEXT,
    scheme TEXT,
    credentials TEXT CHECK ((scheme IS NULL) = (credentials IS NULL)),
    position INTEGER NOT NULL,
    has_begun INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'active',
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    detail TEXT,
    UNIQUE (task, id)
  ) STRICT;
  CREATE INDEX push_configs_active ON push_configs (n) WHERE state = 'active';

  -- The conversations of ended tasks, which a further task of the context continues.
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
    place INTEGER NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (conversation, place)
  ) STRICT;

  -- The deletions of contexts, and what became of them at peers and agents.
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

  -- The callers of tasks that were removed, by their context, and where these tasks had sent work.
  CREATE TABLE context_callers (
    context_id TEXT NOT NULL, caller TEXT NOT NULL, remembered_at INTEGER NOT NULL,
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

  -- The last announce of each peer; caller is the one that sent it.
  CREATE TABLE peers (
    agent_id TEXT PRIMARY KEY,
    announce TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    caller TEXT
  ) STRICT, WITHOUT ROWID;

  -- Join tokens, of which only the hash is stored, and the workers that joined with one (docs/peering.md#joining). A worker's
  -- token is what this profile presents to it; its digest is the hash of what the worker presents.
  CREATE TABLE join_tokens (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    terms TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    used_by TEXT CHECK ((used_by IS NULL) = (used_at IS NULL)),
    request TEXT CHECK ((request IS NULL) = (used_at IS NULL)),
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE workers (
    name TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    token TEXT NOT NULL,
    url TEXT NOT NULL,
    scopes TEXT NOT NULL,
    join_token TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    leaving_at INTEGER
  ) STRICT, WITHOUT ROWID;
`;

/** `applicationId` is "HFLG". */
export const LEDGER: StoreSchema = {
  name: 'ledger',
  applicationId: 0x48464c47,
  firstVersion: 12,
  migrations: [FIRST],
};
