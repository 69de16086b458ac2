import { FleetError } from '@hermes-fleet/protocol';
import { integer, numberOf, oneOf, type Queries, type Row, type Store, text } from '@hermes-fleet/store';
import type {
  LedgerPush,
  NewPushConfig,
  PushConfig,
  PushLimits,
  PushState,
  PushVersion,
} from './push-types.ts';
import { findNumber, notFound } from './task-rows.ts';

const STATES: Readonly<Record<PushState, true>> = { active: true, finished: true, given_up: true };
const VERSIONS: Readonly<Record<PushVersion, true>> = { '1.0': true, '0.3': true };
/** Seconds after which a refused config is worth another try. */
const RETRY_AFTER_S = 60;

const SELECT = 'SELECT p.*, t.id AS task_id, t.caller FROM push_configs p JOIN tasks t ON t.n = p.task';

/** A config whose last delivery, if any, has not failed. */
const WORKS = 'failures = 0, failing_since = NULL, detail = NULL';

/** See `LedgerPush`. */
export function createPushConfigs(store: Pick<Store, 'read' | 'write'>): LedgerPush {
  /** False while the file has no config at all: nothing is read then. */
  let isUsed = store.read((db) => db.get('SELECT 1 FROM push_configs LIMIT 1') !== undefined);
  return {
    save: (config, limits) =>
      store.write(
        (db) => saveConfig(db, config, limits),
        () => {
          isUsed = true;
        },
      ),
    assertRoom: (caller, taskId, limits, pending) =>
      store.read((db) => assertRoom(db, { caller, taskId }, limits, pending)),
    get: (n) => store.read((db) => findBy(db, 'p.n = ?', n)),
    findConfig: (taskId, id) => store.read((db) => findBy(db, 't.id = ? AND p.id = ?', taskId, id)),
    list: (taskId) =>
      isUsed
        ? store.read((db) => db.all(`${SELECT} WHERE t.id = ? ORDER BY p.n`, taskId).map(pushConfig))
        : [],
    remove: (taskId, id) =>
      store.write((db) => {
        const known = findBy(db, 't.id = ? AND p.id = ?', taskId, id);
        if (known) db.run('DELETE FROM push_configs WHERE n = ?', known.n);
        return known;
      }),
    active: (after, limit) =>
      store.read((db) =>
        db
          .all(`${SELECT} WHERE p.state = 'active' AND p.n > ? ORDER BY p.n LIMIT ?`, after, limit)
          .map(pushConfig),
      ),
    delivered: (n, position) =>
      store.write((db) => {
        const sql = `UPDATE push_configs SET position = ?, has_begun = 1, ${WORKS} WHERE n = ?`;
        return db.run(sql, position, n).changes === 1;
      }),
    failed: (n, at, detail) =>
      store.write((db) => {
        db.run(
          `UPDATE push_configs SET failures = failures + 1, failing_since = coalesce(failing_since, ?), detail = ?
           WHERE n = ?`,
          at,
          detail,
          n,
        );
      }),
    end: (n, state) =>
      store.write((db) => {
        db.run(`UPDATE push_configs SET state = ? WHERE n = ? AND state = 'active'`, state, n);
      }),
  };
}

/** Refuses before its first write: it fails no other transaction of its batch (see `GroupCommit.write`). */
function saveConfig(db: Queries, config: NewPushConfig, limits: PushLimits | undefined): PushConfig {
  const { taskId, id, version, url, token, authentication, position } = config;
  const task = findNumber(db, taskId);
  const owner = db.get('SELECT caller FROM tasks WHERE id = ?', taskId);
  if (task === undefined || !owner) throw notFound(taskId);
  const known = findBy(db, 't.id = ? AND p.id = ?', taskId, id);
  const caller = text(owner, 'caller');
  if (known && isSame(known, config)) {
    // One that was given up gave its place to another.
    if (limits && known.state === 'given_up') assertRoom(db, { caller, taskId: undefined }, limits, 0);
    return revived(db, known);
  }
  if (limits)
    assertRoom(
      db,
      { caller, taskId: known ? undefined : taskId },
      limits,
      known?.state === 'active' ? -1 : 0,
    );
  if (known) db.run('DELETE FROM push_configs WHERE n = ?', known.n);
  const { scheme = null, credentials = null } = authentication ?? {};
  db.insert('push_configs', { task, id, version, url, token: token ?? null, scheme, credentials, position });
  const saved = findBy(db, 't.id = ? AND p.id = ?', taskId, id);
  if (!saved) throw new FleetError('INTERNAL', `the push notification config of task ${taskId} is lost`);
  return saved;
}

function revived(db: Queries, known: PushConfig): PushConfig {
  if (known.state !== 'given_up') return known;
  db.run(`UPDATE push_configs SET state = 'active', ${WORKS} WHERE n = ?`, known.n);
  return { ...known, state: 'active', failures: 0, failingSince: undefined, detail: undefined };
}

function isSame(known: PushConfig, { version, url, token, authentication }: NewPushConfig): boolean {
  return (
    known.version === version &&
    known.url === url &&
    known.token === token &&
    known.authentication?.scheme === authentication?.scheme &&
    known.authentication?.credentials === authentication?.credentials
  );
}

function assertRoom(
  db: Queries,
  { caller, taskId }: { readonly caller: string; readonly taskId: string | undefined },
  { perTask, perCaller }: PushLimits,
  pending: number,
): void {
  const full = (message: string): FleetError =>
    new FleetError('QUEUE_FULL', message, { retryAfterS: RETRY_AFTER_S });
  if (taskId !== undefined && count(db, 't.id = ?', taskId) >= perTask)
    throw full(`task ${taskId} has ${perTask} push notification configs, the most allowed; delete one first`);
  if (count(db, "p.state = 'active' AND t.caller = ?", caller) + pending >= perCaller)
    throw full(
      `caller "${caller}" has ${perCaller} push notification configs with open deliveries, the most allowed; delete one first`,
    );
}

const count = (db: Queries, where: string, param: string): number =>
  numberOf(db, `SELECT count(*) FROM push_configs p JOIN tasks t ON t.n = p.task WHERE ${where}`, param);

function findBy(db: Queries, where: string, ...params: (string | number)[]): PushConfig | undefined {
  const row = db.get(`${SELECT} WHERE ${where}`, ...params);
  return row && pushConfig(row);
}

function pushConfig(row: Row): PushConfig {
  return {
    n: integer(row, 'n'),
    taskId: text(row, 'task_id'),
    caller: text(row, 'caller'),
    id: text(row, 'id'),
    version: oneOf(row, 'version', VERSIONS),
    url: text(row, 'url'),
    token: row.token === null ? undefined : text(row, 'token'),
    authentication:
      row.scheme === null
        ? undefined
        : { scheme: text(row, 'scheme'), credentials: text(row, 'credentials') },
    position: integer(row, 'position'),
    hasBegun: integer(row, 'has_begun') === 1,
    state: oneOf(row, 'state', STATES),
    failures: integer(row, 'failures'),
    failingSince: row.failing_since === null ? undefined : integer(row, 'failing_since'),
    detail: row.detail === null ? undefined : text(row, 'detail'),
  };
}
