import { createHash } from 'node:crypto';
import type { TaskState } from '@hermes-fleet/protocol';
import { invalidParams, parseJson } from '@hermes-fleet/protocol';
import { integer, numberOf, type Queries, type Row } from '@hermes-fleet/store';
import { z } from 'zod';
import { countEndedSince, type EndedGroup, endedGroups } from './ended-counts.ts';
import { taskRecord } from './rows.ts';
import { SELECT_TASK } from './task-rows.ts';
import type { TaskPage, TaskQuery, TaskRecord } from './types.ts';

const MAX_PAGE_SIZE = 100;
const MAX_TOKEN_LENGTH = 1024;

/** The place of a task in the order of a list. */
interface Position {
  readonly updatedAt: number;
  readonly n: number;
}

/**
 * One page of tasks, most recently updated first, then by their acceptance. The page token contains the position after the
 * last task and a digest of the filter. Pages repeat a task only if it was updated in between. It reads all unfinished tasks.
 * Without `contextId`, it reads at most as many ended tasks of each caller and state as the page has, however many there
 * are; with it, all tasks of the context. Throws INVALID_PARAMS for `page_size` or `page_token`.
 */
export function listTasks(db: Queries, query: TaskQuery): TaskPage {
  const { pageSize, pageToken } = query;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalidParams('page_size', `must be a whole number from 1 to ${MAX_PAGE_SIZE}`);
  }
  const digest = digestOf(query);
  const after = pageToken ? positionOf(db, decodeToken(pageToken, digest)) : undefined;
  const unfinished = unfinishedPositions(db, query);
  const ended = (query.contextId === undefined ? inAllContexts : inContext)(db, query, after, pageSize + 1);
  const positions = inOrder(
    [...unfinished.filter((each) => isAfter(each, after)), ...ended.positions],
    pageSize + 1,
  );
  const hasMore = positions.length > pageSize;
  const tasks = readTasks(db, hasMore ? positions.slice(0, -1) : positions);
  const last = tasks.at(-1);
  return {
    tasks,
    nextPageToken: hasMore && last ? encodeToken(last.updatedAt, last.id, digest) : '',
    totalSize: unfinished.length + ended.total,
  };
}

/** Ended tasks. */
interface Found {
  /** The first positions after that of the page token, at least as many as asked for if there are so many. */
  readonly positions: readonly Position[];
  /** The number of tasks, whatever the page token says. */
  readonly total: number;
}

/** Ended tasks are in order for each caller and state, so that a page is merged from these. */
function inAllContexts(db: Queries, query: TaskQuery, after: Position | undefined, limit: number): Found {
  const { caller, updatedAfter } = query;
  const isWanted = (state: TaskState): boolean => !query.states?.length || query.states.includes(state);
  const groups = endedGroups(db, caller).filter(({ state }) => isWanted(state));
  const counts = groups.map((group) => countEndedSince(db, group, updatedAfter));
  return {
    positions: groups.flatMap((group) => endedPositions(db, group, updatedAfter, after, limit)),
    total: counts.reduce((sum, count) => sum + count, 0),
  };
}

const UNFINISHED = `SELECT u.task AS n, u.updated_at FROM unfinished u
  WHERE (?1 IS NULL OR u.caller = ?1) AND (?2 IS NULL OR u.state IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR u.updated_at >= ?3)
    AND (?4 IS NULL OR (SELECT t.context_id FROM tasks t WHERE t.n = u.task) = ?4)`;

const unfinishedPositions = (db: Queries, query: TaskQuery): Position[] =>
  db.all(UNFINISHED, ...filterOf(query), query.contextId ?? null).map(position);

/** The first three parameters of a query. */
const filterOf = ({
  caller,
  states,
  updatedAfter,
}: TaskQuery): [string | null, string | null, number | null] => [
  caller ?? null,
  states?.length ? JSON.stringify(states) : null,
  updatedAfter ?? null,
];

function endedPositions(
  db: Queries,
  { caller, state }: EndedGroup,
  updatedAfter: number | undefined,
  after: Position | undefined,
  limit: number,
): Position[] {
  const from = updatedAfter ?? Number.MIN_SAFE_INTEGER;
  const ties =
    after === undefined || after.updatedAt < from
      ? []
      : db.all(
          `SELECT task AS n, updated_at FROM endings WHERE caller = ? AND state = ? AND updated_at = ? AND task > ?
           ORDER BY task LIMIT ?`,
          caller,
          state,
          after.updatedAt,
          after.n,
          limit,
        );
  const others = db.all(
    `SELECT task AS n, updated_at FROM endings WHERE caller = ? AND state = ? AND updated_at < ? AND updated_at >= ?
     ORDER BY updated_at DESC, task LIMIT ?`,
    caller,
    state,
    after?.updatedAt ?? Number.MAX_SAFE_INTEGER,
    from,
    limit - ties.length,
  );
  return [...ties, ...others].map(position);
}

const ENDED_IN_CONTEXT = `FROM tasks t CROSS JOIN endings e ON e.task = t.n
  WHERE t.context_id = ?4 AND (?1 IS NULL OR t.caller = ?1)
    AND (?2 IS NULL OR e.state IN (SELECT value FROM json_each(?2))) AND (?3 IS NULL OR e.updated_at >= ?3)`;

/** Looks at all ended tasks of the context: nothing has them in order. SQLite keeps no more than the page. */
function inContext(db: Queries, query: TaskQuery, after: Position | undefined, limit: number): Found {
  const parameters = [...filterOf(query), query.contextId ?? null];
  const rows = db.all(
    `SELECT t.n, e.updated_at ${ENDED_IN_CONTEXT} AND (e.updated_at, -t.n) < (?5, ?6)
     ORDER BY e.updated_at DESC, t.n LIMIT ?7`,
    ...parameters,
    after?.updatedAt ?? Number.MAX_SAFE_INTEGER,
    after === undefined ? 0 : -after.n,
    limit,
  );
  const total = numberOf(db, `SELECT count(*) ${ENDED_IN_CONTEXT}`, ...parameters);
  return { positions: rows.map(position), total };
}

const position = (row: Row): Position => ({ n: integer(row, 'n'), updatedAt: integer(row, 'updated_at') });
const compare = (a: Position, b: Position): number => b.updatedAt - a.updatedAt || a.n - b.n;
const isAfter = (each: Position, after: Position | undefined): boolean =>
  after === undefined || compare(each, after) > 0;
const inOrder = (positions: Position[], limit: number): Position[] => positions.sort(compare).slice(0, limit);

/** The tasks at the positions, in their order. */
function readTasks(db: Queries, positions: readonly Position[]): TaskRecord[] {
  return positions.flatMap(({ n }) => {
    const row = db.get(`${SELECT_TASK} WHERE t.n = ?`, n);
    return row ? [taskRecord(row)] : [];
  });
}

/** The position of a task that may have been removed: then that before the next one, because ids are in order of time. */
function positionOf(db: Queries, { updatedAt, id }: ReturnType<typeof decodeToken>): Position {
  const next = db.get('SELECT n, id FROM tasks WHERE id >= ? ORDER BY id LIMIT 1', id);
  if (!next) return { updatedAt, n: Number.MAX_SAFE_INTEGER };
  return { updatedAt, n: integer(next, 'n') - (next.id === id ? 0 : 1) };
}

/** Part of every page token: a change makes the tokens of earlier versions useless. */
function digestOf({ caller, contextId, states, updatedAfter }: TaskQuery): string {
  const filters = [
    ['t.caller = ?', caller],
    ['t.context_id = ?', contextId],
    ['t.state IN (SELECT value FROM json_each(?))', states?.length ? JSON.stringify(states) : undefined],
    ['t.updated_at >= ?', updatedAfter],
  ].filter(([, value]) => value !== undefined);
  const where = ['TRUE', ...filters.map(([condition]) => condition)].join(' AND ');
  const identity = JSON.stringify([where, filters.map(([, value]) => value)]);
  return createHash('sha256').update(identity).digest('base64url').slice(0, 12);
}

const Token = z.tuple([z.int(), z.string(), z.string()]);

function encodeToken(updatedAt: number, id: string, digest: string): string {
  return Buffer.from(JSON.stringify([updatedAt, id, digest])).toString('base64url');
}

function decodeToken(token: string, digest: string): { readonly updatedAt: number; readonly id: string } {
  const [updatedAt, id, tokenDigest] = parseToken(token);
  if (tokenDigest !== digest)
    throw invalidParams('page_token', 'belongs to another query; ask for the first page without it');
  return { updatedAt, id };
}

function parseToken(token: string): z.output<typeof Token> {
  const isShort = token.length <= MAX_TOKEN_LENGTH;
  const { data } = Token.safeParse(isShort && parseJson(Buffer.from(token, 'base64url').toString()));
  if (data) return data;
  throw invalidParams('page_token', 'was not made by this service; ask for the first page without it');
}
