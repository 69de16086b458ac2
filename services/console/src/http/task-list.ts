import { ConsoleState, FleetError } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Prices } from '../config/token-prices.ts';
import { type ListCursor, listTasks, type TaskQuery } from '../read-model/list-tasks.ts';
import { costsOf } from './costs.ts';
import type { ApiOptions } from './options.ts';
import { readInput, time } from './query.ts';
import { taskRow } from './task-row.ts';

const MAX_LIMIT = 200;
const word = z.string().min(1, 'must not be empty').max(256, 'must have at most 256 characters');

/** One or several states, separated by commas. */
const states = word.transform((text) => text.split(',')).pipe(z.array(ConsoleState));

const ListQuery = z.strictObject({
  state: states.optional(),
  profile: word.optional(),
  peer: word.optional(),
  caller: word.optional(),
  reason: word.optional(),
  priority: word.optional(),
  q: word.optional(),
  since: time.optional(),
  until: time.optional(),
  parts: z.enum(['true', 'false']).default('false'),
  cursor: word.optional(),
  limit: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, `must be a number from 1 to ${MAX_LIMIT}`)
    .transform(Number)
    .refine((limit) => limit <= MAX_LIMIT, `must be a number from 1 to ${MAX_LIMIT}`)
    .default(50),
});

/** `GET /api/tasks` (docs/console.md#api). */
export function registerTaskList(scope: FastifyInstance, { store, prices }: ApiOptions): void {
  scope.get('/api/tasks', (request) => {
    const { cursor, since, until, parts, ...query } = readInput(ListQuery, request.query);
    const filters = {
      ...query,
      parts: parts === 'true',
      since: since === undefined ? undefined : Date.parse(since),
      until: until === undefined ? undefined : Date.parse(until),
      before: cursor === undefined ? undefined : readCursor(cursor),
    };
    return store.read((db) => tasksDocument(db, filters, prices));
  });
}

function tasksDocument(db: Queries, filters: TaskQuery, prices: Prices) {
  const { tasks, next, total, isCounted, states } = listTasks(db, filters);
  const costOf = costsOf(db, tasks, prices);
  return {
    tasks: tasks.map((task) => taskRow(task, costOf(task))),
    next_cursor: next ? `${next.submittedAt}-${next.n}` : null,
    /** All that match, counted up to 100,000, or to 1,000 with `q`. */
    total,
    /** False when more tasks match than `total`. */
    total_is_exact: isCounted,
    /**
     * How many tasks of each state match the filters other than `state`. A state that no task has is left out. Null where
     * more match than are counted.
     */
    states,
  };
}

/**
 * `GET /api/tasks?state=&profile=&peer=&caller=&reason=&priority=&q=&since=&until=&parts=&cursor=&limit=`: newest first.
 * `q` matches the beginning of id, task_id and context_id; `parts=true` also lists tasks that peers sent on. `limit` is 1 to 200, default 50.
 */
export type TasksDocument = ReturnType<typeof tasksDocument>;

function readCursor(cursor: string): ListCursor {
  const [, submittedAt, n] = /^(\d{1,16})-(\d{1,15})$/.exec(cursor) ?? [];
  if (submittedAt !== undefined && n !== undefined) return { submittedAt: Number(submittedAt), n: Number(n) };
  const reason = 'is not a next_cursor of this list';
  throw new FleetError('INVALID_PARAMS', `cursor: ${reason}`, { fields: [{ path: 'cursor', reason }] });
}
