/**
 * Step 9 of the schema. A chunk of an artifact belongs to its `artifact` event, which does not have the content: events are
 * published. The parts that replies refer to have their content in a table of its own, so that a reply reads none of it.
 */
export const STEP_9 = `
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
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (task, seq, part)
  ) STRICT;
  `;
