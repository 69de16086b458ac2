/**
 * The books (docs/trader.md#books): one row for each entry, and never changed. The audit has a hash of the rows of each save.
 * `rev` is the revision of the concern that an applied decision led to; null for one that was rolled back.
 */
export const BOOKS = `
  ALTER TABLE decisions ADD COLUMN rev INTEGER;
  UPDATE decisions SET rev = (
    SELECT json_extract(record, '$.change.rev') FROM audit WHERE seq = attempt_seq
  ) WHERE json_extract(response, '$.status') = 'applied';
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
