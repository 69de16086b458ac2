/**
 * Step 10 of the schema: the push notification configs of tasks (docs/push.md), which go with their tasks. A config that
 * replaces another has a new number, and no number is used twice, so that a late write of a delivery changes nothing.
 */
export const STEP_10 = `
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
  `;
