import { createHash } from 'node:crypto';
import { FleetError } from '@hermes-fleet/protocol';
import { integer, type Queries, type Row } from '@hermes-fleet/store';
import { z } from 'zod';
import { countEndedSince, type EndedGroup, endedGroups } from './ended-counts.ts';
import { taskRecord } from './rows.ts';
import { SELECT_TASK } from './task-rows.ts';
import type { TaskPage, TaskQuery, TaskRecord, TaskState } from './types.ts';

const MAX_PAGE_SIZE = 100;
const MAX_TOKEN_LENGTH = 1024;

/** The place of a task in the order of a list. */
interface Position {
  readonly updatedAt: number;
  readonly n: number;
}

/**
 * One page of tasks, most recently updated first, then by their acceptance. The page token contains the position after the
 * last task and a digest of the filter. Pages repeat a task only if it was updated in between. Without `contextId`, it reads
 * as many rows as the page has and all unfinished tasks, however many have ended; with it, all tasks of the context. Throws
 * INVALID_PARAMS for `page_size` or `page_token`.
 */
export function listTasks(db: Queries, query: TaskQuery): TaskPage {
  const { pageSize, pageToken } = query;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalid('page_size', `must be a whole number from 1 to ${MAX_PAGE_SIZE}`);
  }
  const digest = digestOf(query);
  const after = pageToken ? positionOf(db, decodeToken(pageToken, digest)) : undefined;
  const { positions, total } =
    query.contextId === undefined
      ? inAllContexts(db, query, after, pageSize + 1)
      : inContext(db, query.contextId, query, after, pageSize + 1);
  const hasMore = positions.length > pageSize;
  const tasks = readTasks(db, hasMore ? positions.slice(0, -1) : positions);
  const last = tasks.at(-1);
  return {
    tasks,
    nextPageToken: hasMore && last ? encodeToken(last.updatedAt, last.id, digest) : '',
    totalSize: total,
  };
}

interface Found {
  /** The positions after that of the page token, in order, as many as asked for. */
  readonly positions: readonly Position[];
  /** The number of tasks, whatever the page token says. */
  readonly total: number;
}

/** Unfinished tasks are few. Ended ones are in order for each caller and state, so that a page is merged from these. */
function inAllContexts(db: Queries, query: TaskQuery, after: Position | undefined, limit: number): Found {
  const { caller, updatedAfter } = query;
  const isWanted = (state: TaskState): boolean => !query.states?.length || query.states.includes(state);
  const groups = endedGroups(db, caller).filter(({ state }) => isWanted(state));
  const unfinished = unfinishedPositions(db, query);
  const ended = groups.flatMap((group) => endedPositions(db, group, updatedAfter, after, limit));
  const counts = groups.map((group) => countEndedSince(db, group, updatedAfter));
  return {
    positions: inOrder([...unfinished.filter((each) => isAfter(each, after)), ...ended], limit),
    total: counts.reduce((sum, count) => sum + count, unfinished.length),
  };
}

const UNFINISHED = `SELECT u.task AS n, u.updated_at FROM unfinished u
  WHERE (?1 IS NULL OR u.caller = ?1) AND (?2 IS NULL OR u.state IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR u.updated_at >= ?3)`;

const unfinishedPositions = (db: Queries, { caller, states, updatedAfter }: TaskQuery): Position[] =>
  db
    .all(UNFINISHED, caller ?? null, states?.length ? JSON.stringify(states) : null, updatedAfter ?? null)
    .map(position);

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

function inContext(
  db: Queries,
  contextId: string,
  { caller, states, updatedAfter }: TaskQuery,
  after: Position | undefined,
  limit: number,
): Found {
  const all = db
    .all(
      `SELECT n, updated_at FROM (
         SELECT t.n, coalesce(e.state, u.state) AS state, coalesce(e.updated_at, u.updated_at) AS updated_at
         FROM tasks t LEFT JOIN endings e ON e.task = t.n LEFT JOIN unfinished u ON u.task = t.n
         WHERE t.context_id = ?1 AND (?2 IS NULL OR t.caller = ?2))
       WHERE (?3 IS NULL OR state IN (SELECT value FROM json_each(?3))) AND (?4 IS NULL OR updated_at >= ?4)`,
      contextId,
      caller ?? null,
      states?.length ? JSON.stringify(states) : null,
      updatedAfter ?? null,
    )
    .map(position);
  return {
    positions: inOrder(
      all.filter((each) => isAfter(each, after)),
      limit,
    ),
    total: all.length,
  };
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
    throw invalid('page_token', 'belongs to another query; ask for the first page without it');
  return { updatedAt, id };
}

function parseToken(token: string): z.output<typeof Token> {
  if (token.length <= MAX_TOKEN_LENGTH) {
    try {
      return Token.parse(JSON.parse(Buffer.from(token, 'base64url').toString()));
    } catch {
      // Every foreign token gets the error below.
    }
  }
  throw invalid('page_token', 'was not made by this service; ask for the first page without it');
}

function invalid(path: string, reason: string): FleetError {
  return new FleetError('INVALID_PARAMS', `${path} ${reason}`, { fields: [{ path, reason }] });
}
