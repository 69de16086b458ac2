/**
 * Step 12 of the schema: join tokens, of which only the hash is stored, and the workers that joined with one
 * (docs/peering.md#joining). `terms` is JSON. `token` is what this profile presents to the worker; `digest` is the hash of
 * what the worker presents.
 */
export const STEP_12 = `
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
