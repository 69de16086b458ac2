import type { StoreSchema } from '@hermes-fleet/store';

/**
 * The schema of control.db (docs/trader.md#state). Triggers make `audit` append-only, and the books final. `decisions` holds
 * the first judgment of each decision_id; dry runs and refusals are in the audit alone.
 *
 * It is the first published schema and stays as it is: a change is a step behind it.
 */
const FIRST = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE strategies (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    market_symbol TEXT NOT NULL,
    params TEXT NOT NULL,
    status TEXT NOT NULL
  ) STRICT;

  CREATE TABLE concerns (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    market_symbol TEXT NOT NULL,
    active_strategy_id TEXT REFERENCES strategies (id),
    run_state TEXT NOT NULL,
    risk_mode TEXT NOT NULL,
    rev INTEGER NOT NULL,
    -- Whether trader.yaml has it; one that it has no more keeps its state for when it comes back.
    listed INTEGER NOT NULL,
    UNIQUE (account_id, market_symbol)
  ) STRICT;

  CREATE TABLE decisions (
    decision_id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    concern_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    response TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    -- The audit record of the attempt.
    attempt_seq INTEGER NOT NULL,
    -- 1: applied, and its outcome is not recorded yet.
    open INTEGER NOT NULL,
    -- The revision of the concern that an applied decision led to; null for one that was rolled back.
    rev INTEGER
  ) STRICT;
  CREATE INDEX decisions_concern ON decisions (concern_id, attempt_seq DESC);
  CREATE INDEX decisions_open ON decisions (attempt_seq) WHERE open = 1;
  CREATE INDEX decisions_rev ON decisions (concern_id, rev) WHERE rev IS NOT NULL;

  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    record TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
  -- A replacing INSERT would remove a row without the trigger on DELETE.
  CREATE TRIGGER audit_is_a_chain BEFORE INSERT ON audit
  WHEN NEW.seq IS NOT 1 + max(
    (SELECT ifnull(max(seq), 0) FROM audit),
    (SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'audit'))
  BEGIN SELECT raise(ABORT, 'audit records are added at the end'); END;
  CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'audit records cannot be changed'); END;
  CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'audit records cannot be removed'); END;

  -- Events that the bus has not acknowledged; the cursor tells up to which it has.
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    subject TEXT NOT NULL,
    event TEXT NOT NULL
  ) STRICT;
  CREATE TABLE cursor (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL) STRICT;
  INSERT INTO cursor VALUES (1, 0);

  CREATE TABLE engines (concern_id TEXT PRIMARY KEY REFERENCES concerns (id), snapshot TEXT NOT NULL) STRICT;

  -- The books (docs/trader.md#books): one row for each entry. The audit has a hash of the rows of each save.
  CREATE TABLE books (
    concern_id TEXT NOT NULL REFERENCES concerns (id),
    n INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (concern_id, n)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX books_orders ON books (concern_id, n) WHERE json_extract(entry, '$.kind') = 'order';
  CREATE INDEX books_fills ON books (concern_id, n) WHERE json_extract(entry, '$.event') = 'filled';
  CREATE TRIGGER books_are_in_order BEFORE INSERT ON books
  WHEN NEW.n <= (SELECT ifnull(max(n), 0) FROM books WHERE concern_id = NEW.concern_id)
  BEGIN SELECT raise(ABORT, 'entries of books are added at the end'); END;
  CREATE TRIGGER books_are_final BEFORE UPDATE ON books BEGIN SELECT raise(ABORT, 'entries of books cannot be changed'); END;
  CREATE TRIGGER books_are_kept BEFORE DELETE ON books BEGIN SELECT raise(ABORT, 'entries of books cannot be removed'); END;
`;

/** "HFTR" */
export const CONTROL: StoreSchema = {
  name: 'control store',
  applicationId: 0x48465452,
  firstVersion: 2,
  migrations: [FIRST],
};
