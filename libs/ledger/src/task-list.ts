import { createHash } from 'node:crypto';
import type { SQLInputValue } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { integer, type Queries } from '@hermes-fleet/store';
import { z } from 'zod';
import { taskRecord } from './rows.ts';
import { SELECT_TASK } from './tasks.ts';
import type { TaskPage, TaskQuery } from './types.ts';

const MAX_PAGE_SIZE = 100;
const MAX_TOKEN_LENGTH = 1024;

interface Filter {
  readonly where: string;
  readonly params: readonly SQLInputValue[];
}

/**
 * One page of tasks, most recently updated first. The page token contains the position after the last task and a digest
 * of the filter. Pages repeat a task only if it was updated in between. Throws INVALID_PARAMS for `page_size` or
 * `page_token`.
 */
export function listTasks(db: Queries, query: TaskQuery): TaskPage {
  const { pageSize, pageToken } = query;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalid('page_size', `must be a whole number from 1 to ${MAX_PAGE_SIZE}`);
  }
  const { where, params } = filterOf(query);
  const digest = createHash('sha256')
    .update(JSON.stringify([where, params]))
    .digest('base64url')
    .slice(0, 12);
  const position = pageToken ? decodeToken(pageToken, digest) : undefined;
  const from = position ? ' AND (t.updated_at < ? OR (t.updated_at = ? AND t.id > ?))' : '';
  const tasks = db
    .all(
      `${SELECT_TASK} WHERE ${where}${from} ORDER BY t.updated_at DESC, t.id LIMIT ?`,
      ...params,
      ...(position ? [position.updatedAt, position.updatedAt, position.id] : []),
      pageSize + 1,
    )
    .map(taskRecord);
  const hasMore = tasks.length > pageSize;
  const page = hasMore ? tasks.slice(0, -1) : tasks;
  const last = page.at(-1);
  const total = db.get(`SELECT count(*) AS total FROM tasks t WHERE ${where}`, ...params);
  return {
    tasks: page,
    nextPageToken: hasMore && last ? encodeToken(last.updatedAt, last.id, digest) : '',
    totalSize: total ? integer(total, 'total') : 0,
  };
}

function filterOf(query: TaskQuery): Filter {
  const { caller, contextId, states, updatedAfter } = query;
  const parts: [condition: string, param: SQLInputValue | undefined][] = [
    ['t.caller = ?', caller],
    ['t.context_id = ?', contextId],
    ['t.state IN (SELECT value FROM json_each(?))', states?.length ? JSON.stringify(states) : undefined],
    ['t.updated_at >= ?', updatedAfter],
  ];
  const used = parts.filter(([, param]) => param !== undefined);
  return {
    where: ['TRUE', ...used.map(([condition]) => condition)].join(' AND '),
    params: used.flatMap(([, param]) => (param === undefined ? [] : [param])),
  };
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
