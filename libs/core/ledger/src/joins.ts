import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { integer, json, numberOf, type Queries, type Row, type Store, text } from '@hermes-fleet/store';

/** A join token: the right to join once (docs/peering.md#joining). Only the hash of the token is known. */
export interface JoinTokenRecord {
  readonly id: string;
  /** 64 hex digits: the SHA-256 of the token. */
  readonly digest: string;
  /** The name that the worker may take; `*` stands for any part of it. */
  readonly name: string;
  /** What the worker gets, as its creator said. */
  readonly terms: JsonObject;
  /** The caller that created it. */
  readonly createdBy: string;
  /** Ms since the epoch, as are the other times. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly used: { readonly at: number; readonly by: string; readonly request: string } | undefined;
  readonly revokedAt: number | undefined;
}

/** A worker that joined with a join token. */
export interface WorkerRecord {
  readonly name: string;
  /** 64 hex digits: the SHA-256 of the token that the worker presents. */
  readonly digest: string;
  /** The token that this profile presents to the worker. */
  readonly token: string;
  /** The JSON-RPC URL of the worker. */
  readonly url: string;
  readonly scopes: readonly string[];
  /** The id of its join token. */
  readonly joinToken: string;
  readonly joinedAt: number;
  /** The time since which it gets no new work, because it is leaving. */
  readonly leavingAt: number | undefined;
}

export type LedgerJoins = ReturnType<typeof createJoins>;

/** Join tokens, and the workers that joined with them. Each transaction refuses before its first write. */
export function createJoins(store: Pick<Store, 'read' | 'write'>) {
  return {
    /** The newest first. */
    tokens: (): JoinTokenRecord[] =>
      store.read((db) => db.all('SELECT * FROM join_tokens ORDER BY created_at DESC, id').map(tokenRecord)),
    findToken: (digest: string): JoinTokenRecord | undefined =>
      store.read((db) => {
        const row = db.get('SELECT * FROM join_tokens WHERE digest = ?', digest);
        return row && tokenRecord(row);
      }),
    /**
     * Stores a join token, and removes those that ended before `forgetBefore`. Throws QUEUE_FULL when `max` others can still
     * be used.
     */
    addToken: (token: NewToken, limits: TokenLimits): Promise<void> =>
      store.write((db) => addToken(db, token, limits)),
    /** Revokes a join token that was not used; false if there is none. */
    revokeToken: (id: string, at: number): Promise<boolean> =>
      store.write((db) => {
        const sql =
          'UPDATE join_tokens SET revoked_at = ? WHERE id = ? AND used_at IS NULL AND revoked_at IS NULL';
        return db.run(sql, at, id).changes === 1;
      }),
    workers: (): WorkerRecord[] =>
      store.read((db) => db.all('SELECT * FROM workers ORDER BY name').map(workerRecord)),
    /**
     * Uses up the join token and stores the worker, in one transaction. The same request again resolves with false and changes
     * nothing. Throws UNAUTHENTICATED for a token that can't be used any more, and FORBIDDEN for the name, the token or the
     * address of another worker.
     */
    join: (worker: WorkerRecord, use: Use): Promise<boolean> => store.write((db) => join(db, worker, use)),
    /** Records that a worker is leaving; undefined for an unknown one. */
    leave: (name: string, at: number): Promise<WorkerRecord | undefined> =>
      store.write((db) => {
        db.run('UPDATE workers SET leaving_at = coalesce(leaving_at, ?) WHERE name = ?', at, name);
        return findWorker(db, name);
      }),
    /**
     * Removes a worker and its stored announce; false if there is none. A revoked one also loses the push notification configs
     * of the tasks that it sent: they would go on telling it what those tasks do.
     */
    removeWorker: (name: string, { isRevoked }: { readonly isRevoked: boolean }): Promise<boolean> =>
      store.write((db) => {
        db.run('DELETE FROM peers WHERE agent_id = ?', name);
        if (isRevoked)
          db.run(
            'DELETE FROM push_configs WHERE n IN (SELECT p.n FROM push_configs p JOIN tasks t ON t.n = p.task WHERE t.caller = ?)',
            name,
          );
        return db.run('DELETE FROM workers WHERE name = ?', name).changes === 1;
      }),
  };
}

type NewToken = Omit<JoinTokenRecord, 'used' | 'revokedAt'>;
type TokenLimits = { readonly max: number; readonly forgetBefore: number };
type Use = { readonly request: string; readonly at: number };

function addToken(db: Queries, token: NewToken, { max, forgetBefore }: TokenLimits): void {
  const open = numberOf(
    db,
    'SELECT count(*) FROM join_tokens WHERE used_at IS NULL AND revoked_at IS NULL AND expires_at > ?',
    token.createdAt,
  );
  if (open >= max) {
    const message = `${max} join tokens can still be used, the most allowed; revoke some of them first`;
    throw new FleetError('QUEUE_FULL', message, { retryAfterS: 60 });
  }
  db.run('DELETE FROM join_tokens WHERE expires_at < ?', forgetBefore);
  db.insert('join_tokens', {
    id: token.id,
    digest: token.digest,
    name: token.name,
    terms: JSON.stringify(token.terms),
    created_by: token.createdBy,
    created_at: token.createdAt,
    expires_at: token.expiresAt,
  });
}

function join(db: Queries, worker: WorkerRecord, { request, at }: Use): boolean {
  const row = db.get('SELECT * FROM join_tokens WHERE id = ?', worker.joinToken);
  const token = row && tokenRecord(row);
  if (token?.used?.request === request && findWorker(db, worker.name)?.joinToken === token.id) return false;
  const problem = token ? joinTokenProblem(token, at) : 'this join token is not known here';
  if (problem !== undefined) throw new FleetError('UNAUTHENTICATED', problem);
  if (findWorker(db, worker.name)) throw new FleetError('FORBIDDEN', nameTaken(worker.name));
  if (db.get('SELECT 1 FROM workers WHERE digest = ?', worker.digest))
    throw new FleetError('FORBIDDEN', 'another worker has this token: make one of its own');
  const beside = db.get('SELECT name FROM workers WHERE url = ?', worker.url);
  if (beside)
    throw new FleetError('FORBIDDEN', `${text(beside, 'name')} has joined with ${worker.url} already`);
  db.run(
    'UPDATE join_tokens SET used_at = ?, used_by = ?, request = ? WHERE id = ?',
    at,
    worker.name,
    request,
    worker.joinToken,
  );
  db.insert('workers', {
    name: worker.name,
    digest: worker.digest,
    token: worker.token,
    url: worker.url,
    scopes: worker.scopes.join(' '),
    join_token: worker.joinToken,
    joined_at: worker.joinedAt,
  });
  return true;
}

export const nameTaken = (name: string): string =>
  `a worker named ${name} has joined already: choose another name, or revoke that worker first`;

/** Why a join token can't be used at `now`; undefined if it can. */
export function joinTokenProblem(
  { used, revokedAt, expiresAt }: JoinTokenRecord,
  now: number,
): string | undefined {
  const another = 'ask for another one';
  if (revokedAt !== undefined) return `this join token was revoked: ${another}`;
  if (used) return `this join token was used by ${used.by} already, and joins once only: ${another}`;
  if (now >= expiresAt) return `this join token expired at ${new Date(expiresAt).toISOString()}: ${another}`;
  return undefined;
}

function findWorker(db: Queries, name: string): WorkerRecord | undefined {
  const row = db.get('SELECT * FROM workers WHERE name = ?', name);
  return row && workerRecord(row);
}

function tokenRecord(row: Row): JoinTokenRecord {
  return {
    id: text(row, 'id'),
    digest: text(row, 'digest'),
    name: text(row, 'name'),
    terms: json(row, 'terms'),
    createdBy: text(row, 'created_by'),
    createdAt: integer(row, 'created_at'),
    expiresAt: integer(row, 'expires_at'),
    used:
      row.used_at === null
        ? undefined
        : { at: integer(row, 'used_at'), by: text(row, 'used_by'), request: text(row, 'request') },
    revokedAt: row.revoked_at === null ? undefined : integer(row, 'revoked_at'),
  };
}

function workerRecord(row: Row): WorkerRecord {
  return {
    name: text(row, 'name'),
    digest: text(row, 'digest'),
    token: text(row, 'token'),
    url: text(row, 'url'),
    scopes: text(row, 'scopes').split(' '),
    joinToken: text(row, 'join_token'),
    joinedAt: integer(row, 'joined_at'),
    leavingAt: row.leaving_at === null ? undefined : integer(row, 'leaving_at'),
  };
}
