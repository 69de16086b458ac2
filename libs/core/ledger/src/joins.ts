import { FleetError } from '@hermes-fleet/protocol';
import { integer, json, numberOf, type Queries, type Row, type Store, text } from '@hermes-fleet/store';
import type { JoinTokenRecord, LedgerJoins, WorkerRecord } from './join-types.ts';

/** See `LedgerJoins`. Each transaction refuses before its first write. */
export function createJoins(store: Pick<Store, 'read' | 'write'>): LedgerJoins {
  return {
    tokens: () =>
      store.read((db) => db.all('SELECT * FROM join_tokens ORDER BY created_at DESC, id').map(tokenRecord)),
    findToken: (digest) =>
      store.read((db) => {
        const row = db.get('SELECT * FROM join_tokens WHERE digest = ?', digest);
        return row && tokenRecord(row);
      }),
    addToken: (token, limits) => store.write((db) => addToken(db, token, limits)),
    revokeToken: (id, at) =>
      store.write((db) => {
        const sql =
          'UPDATE join_tokens SET revoked_at = ? WHERE id = ? AND used_at IS NULL AND revoked_at IS NULL';
        return db.run(sql, at, id).changes === 1;
      }),
    workers: () => store.read((db) => db.all('SELECT * FROM workers ORDER BY name').map(workerRecord)),
    join: (worker, use) => store.write((db) => join(db, worker, use)),
    leave: (name, at) =>
      store.write((db) => {
        db.run('UPDATE workers SET leaving_at = coalesce(leaving_at, ?) WHERE name = ?', at, name);
        return findWorker(db, name);
      }),
    removeWorker: (name, { isRevoked }) =>
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

function addToken(
  db: Queries,
  token: Parameters<LedgerJoins['addToken']>[0],
  { max, forgetBefore }: Parameters<LedgerJoins['addToken']>[1],
): void {
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

function join(
  db: Queries,
  worker: WorkerRecord,
  { request, at }: { readonly request: string; readonly at: number },
): boolean {
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
