import { FleetError } from '@hermes-fleet/protocol';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Prices } from '../config/prices.ts';
import { TASK_STATES } from '../projection/task-facts.ts';
import { type ListCursor, listTasks } from '../read-model/list-tasks.ts';
import type { TasksDocument } from './api.ts';
import { costsOf } from './costs.ts';
import { readInput } from './query.ts';
import { time } from './range-query.ts';
import { taskRow } from './task-row.ts';

const MAX_LIMIT = 200;
const word = z.string().min(1, 'must not be empty').max(256, 'must have at most 256 characters');

/** One or several states, separated by commas. */
const states = word.transform((text) => text.split(',')).pipe(z.array(z.enum(TASK_STATES)));

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
export function registerTaskList(
  scope: FastifyInstance,
  { store, prices }: { readonly store: Pick<Store, 'read'>; readonly prices: Prices },
): void {
  scope.get('/api/tasks', (request): TasksDocument => {
    const { cursor, since, until, parts, ...query } = readInput(ListQuery, request.query);
    const filters = {
      ...query,
      parts: parts === 'true',
      since: since === undefined ? undefined : Date.parse(since),
      until: until === undefined ? undefined : Date.parse(until),
      before: cursor === undefined ? undefined : readCursor(cursor),
    };
    return store.read((db) => {
      const { tasks, next, total, isCounted, states } = listTasks(db, filters);
      const costOf = costsOf(db, tasks, prices);
      return {
        tasks: tasks.map((task) => taskRow(task, costOf(task))),
        next_cursor: next ? `${next.submittedAt}-${next.n}` : null,
        total,
        total_is_exact: isCounted,
        states,
      };
    });
  });
}

function readCursor(cursor: string): ListCursor {
  const [, submittedAt, n] = /^(\d{1,16})-(\d{1,15})$/.exec(cursor) ?? [];
  if (submittedAt !== undefined && n !== undefined) return { submittedAt: Number(submittedAt), n: Number(n) };
  const reason = 'is not a next_cursor of this list';
  throw new FleetError('INVALID_PARAMS', `cursor: ${reason}`, { fields: [{ path: 'cursor', reason }] });
}
