import type { StoreSchema } from '@hermes-fleet/store';

/** The tables that a rebuild empties; `audit_highest` and `sessions` are not made from events that can be read again. */
export const PROJECTED = [
  'tasks',
  'facets',
  'events',
  'sources',
  'positions',
  'skips',
  'spending',
  'ends',
  'needs',
  'peers',
  'concerns',
  'decisions',
  'verdicts',
  'audit_heads',
  'facts',
] as const;

/**
 * The read model (docs/console.md#the-read-model). Times are ms since the epoch; `at` of a sum is the start of its bucket,
 * and `width` the bucket's length in seconds. A facet is one combination of the values by which the list of tasks can be
 * filtered, where an empty text is a value that a task does not have: there are few of them, so the list finds the tasks of
 * any filter without reading others.
 */
export const READ_MODEL: StoreSchema = {
  name: 'read model of the console',
  applicationId: 0x68666373,
  firstVersion: 2,
  migrations: [
    `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

    CREATE TABLE positions (filter TEXT PRIMARY KEY, seq INTEGER NOT NULL, created TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE sources (source TEXT PRIMARY KEY, number INTEGER NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE skips (reason TEXT PRIMARY KEY, count INTEGER NOT NULL, last TEXT NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE tasks (
      n INTEGER PRIMARY KEY,
      facet INTEGER NOT NULL, profile TEXT NOT NULL, id TEXT NOT NULL, task_id TEXT NOT NULL, context_id TEXT NOT NULL,
      caller TEXT NOT NULL, root_id TEXT, root_caller TEXT, parent_task_id TEXT, parent_profile TEXT, entered INTEGER NOT NULL,
      state TEXT NOT NULL, peer TEXT, tool TEXT, priority TEXT, target TEXT,
      spent_tokens INTEGER NOT NULL, budget_tokens INTEGER,
      submitted_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER, deadline_at INTEGER,
      reason TEXT, reroutes INTEGER NOT NULL, model TEXT, model_tier TEXT,
      own_tokens INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
      cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL, has_counts INTEGER NOT NULL,
      delegated_tokens INTEGER NOT NULL, saved_tokens INTEGER NOT NULL, overrun INTEGER NOT NULL, trace_id TEXT,
      UNIQUE (profile, id)
    ) STRICT;
    CREATE INDEX tasks_by_facet ON tasks (facet, submitted_at);
    CREATE INDEX tasks_by_id ON tasks (id, submitted_at, facet);
    CREATE INDEX tasks_by_name ON tasks (task_id, submitted_at, facet);
    CREATE INDEX tasks_by_context ON tasks (context_id, submitted_at, facet);
    CREATE INDEX tasks_by_parent ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL;
    CREATE INDEX tasks_by_spending ON tasks (spent_tokens, ended_at) WHERE entered = 1 AND ended_at IS NOT NULL;

    CREATE TABLE facets (
      n INTEGER PRIMARY KEY, entered INTEGER NOT NULL, state TEXT NOT NULL, profile TEXT NOT NULL, peer TEXT NOT NULL,
      caller TEXT NOT NULL, reason TEXT NOT NULL, priority TEXT NOT NULL,
      UNIQUE (caller, state, profile, peer, reason, priority, entered)
    ) STRICT;

    CREATE TABLE events (
      n INTEGER PRIMARY KEY, task INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL,
      data TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_task ON events (task, n);
    CREATE INDEX events_delegated ON events (task) WHERE type = 'delegated';

    CREATE TABLE spending (
      width INTEGER NOT NULL, at INTEGER NOT NULL, profile TEXT NOT NULL, model_tier TEXT NOT NULL, model TEXT NOT NULL,
      caller TEXT NOT NULL, tokens INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
      cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL, tasks INTEGER NOT NULL,
      overruns INTEGER NOT NULL, uncounted INTEGER NOT NULL,
      PRIMARY KEY (width, at, profile, model_tier, model, caller)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ends (
      width INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, tasks INTEGER NOT NULL, saved INTEGER NOT NULL,
      PRIMARY KEY (width, at, reason)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE needs (
      width INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, tasks INTEGER NOT NULL,
      alone INTEGER NOT NULL, saved INTEGER NOT NULL,
      PRIMARY KEY (width, at, kind, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE peers (name TEXT PRIMARY KEY, at INTEGER NOT NULL, announce TEXT NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE concerns (
      concern_id TEXT PRIMARY KEY, strategy_id TEXT, run_state TEXT, risk_mode TEXT, at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE decisions (
      n INTEGER PRIMARY KEY, at INTEGER NOT NULL, decision_id TEXT NOT NULL, concern_id TEXT NOT NULL, action TEXT NOT NULL,
      status TEXT NOT NULL, codes TEXT NOT NULL, caller TEXT NOT NULL, audit_seq INTEGER
    ) STRICT;
    CREATE INDEX decisions_by_time ON decisions (at);
    CREATE INDEX decisions_applied ON decisions (concern_id, at) WHERE status = 'applied';
    CREATE TABLE verdicts (
      width INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
      PRIMARY KEY (width, at, kind, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE audit_heads (
      service TEXT PRIMARY KEY, store TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE audit_highest (
      service TEXT NOT NULL, store TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL,
      problem TEXT, PRIMARY KEY (service, store)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE facts (fact TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE sessions (
      digest TEXT PRIMARY KEY, opened_at INTEGER NOT NULL, used_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;`,
  ],
};
