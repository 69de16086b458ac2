/** What an applied decision led to, by its audit record. */
const REV = `SELECT json_extract(record, '$.change.rev') FROM audit WHERE seq = attempt_seq`;
const IS_APPLIED = `json_extract(response, '$.status') = 'applied'`;

/** A file of 0.1.0, which has no books, as if it had empty ones: its audit is verified before a trader migrates it. */
export const WITHOUT_BOOKS = `
  CREATE TEMP TABLE books (concern_id TEXT, n INTEGER, entry TEXT) STRICT;
  CREATE TEMP VIEW decisions AS
    SELECT *, CASE WHEN ${IS_APPLIED} THEN (${REV}) END AS rev FROM main.decisions;
`;

/**
 * The books (docs/trader.md#books): one row for each entry, and never changed. The audit has a hash of the rows of each save.
 * `rev` is the revision of the concern that an applied decision led to; null for one that was rolled back.
 */
export const BOOKS = `
  ALTER TABLE decisions ADD COLUMN rev INTEGER;
  UPDATE decisions SET rev = (${REV}) WHERE ${IS_APPLIED};
  CREATE INDEX decisions_rev ON decisions (concern_id, rev) WHERE rev IS NOT NULL;

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
