import type { StoreSchema } from '@hermes-fleet/store';
import { BOOKS, WITHOUT_BOOKS } from './books-schema.ts';

/**
 * The schema of control.db (docs/trader.md#state). Triggers make `audit` append-only. `decisions` holds the first judgment
 * of each decision_id; dry runs and refusals are in the audit alone.
 */
const MIGRATIONS: readonly string[] = [
  `
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
    open INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX decisions_concern ON decisions (concern_id, attempt_seq DESC);
  CREATE INDEX decisions_open ON decisions (attempt_seq) WHERE open = 1;

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
  `,
  BOOKS,
];

/** "HFTR" */
export const CONTROL: StoreSchema = {
  name: 'control store',
  applicationId: 0x48465452,
  migrations: MIGRATIONS,
  readableAs: { 1: WITHOUT_BOOKS },
};
