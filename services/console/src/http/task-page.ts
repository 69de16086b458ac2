import { FleetError } from '@hermes-fleet/protocol';
import type { Queries, Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import type { Prices } from '../config/prices.ts';
import { attemptsOf } from '../projection/attempts.ts';
import { describeEvent } from '../projection/describe.ts';
import type { Counts } from '../projection/task-facts.ts';
import { findTask, iso, isoOrNull, type TaskRecord } from '../read-model/task-rows.ts';
import { nodesOf, parentOf, type Tree, treesOf, WHOLE_PART } from '../read-model/task-tree.ts';
import { eventsOf, MAX_ENTRIES, timelineOf } from '../read-model/timeline.ts';
import type { TaskDocument, TaskNode, Usage } from './api.ts';
import { ownCost, treeCost } from './costs.ts';
import { taskRow } from './task-row.ts';

export interface TaskParams {
  readonly profile: string;
  readonly id: string;
}

/** `GET /api/tasks/:profile/:id` (docs/console.md#api). */
export function registerTaskPage(
  scope: FastifyInstance,
  { store, prices }: { readonly store: Pick<Store, 'read'>; readonly prices: Prices },
): void {
  scope.get<{ Params: TaskParams }>('/api/tasks/:profile/:id', ({ params }) =>
    store.read((db) => taskDocument(db, knownTask(db, params), prices)),
  );
}

/** The task of an address; throws TASK_NOT_FOUND. */
export function knownTask(db: Queries, { profile, id }: TaskParams): TaskRecord {
  const task = findTask(db, profile, id);
  if (task) return task;
  throw new FleetError('TASK_NOT_FOUND', `no event of task ${id} at ${profile} is known`);
}

function taskDocument(db: Queries, task: TaskRecord, prices: Prices): TaskDocument {
  const [tree = { task, parts: [] }] = treesOf(db, [task], WHOLE_PART);
  const node = nodeOf(tree, prices);
  const { events, truncated } = timelineOf(db, nodesOf(tree));
  const parent = parentOf(db, task);
  const { parentProfile, parentTaskId } = task;
  const unknownParent =
    parentProfile === null || parentTaskId === null
      ? null
      : { profile: parentProfile, id: null, task_id: parentTaskId };
  return {
    task: taskRow(task, treeCost(tree, prices)),
    attempts: attemptsOf(eventsOf(db, task, MAX_ENTRIES)).map(({ at, ...attempt }) => ({
      at: iso(at),
      ...attempt,
    })),
    timeline: events.map(({ task: { profile, id }, at, type, data }) => {
      const text = describeEvent(type, data);
      return { at: iso(at), profile, id, type, text, data };
    }),
    truncated,
    tree: node,
    parent: parent ? { profile: parent.profile, id: parent.id, task_id: parent.taskId } : unknownParent,
    trace_id: task.traceId,
  };
}

function nodeOf({ task, parts }: Tree, prices: Prices): TaskNode {
  return {
    profile: task.profile,
    id: task.id,
    task_id: task.taskId,
    state: task.state,
    model: task.model,
    model_tier: task.modelTier,
    own_tokens: task.ownTokens,
    delegated_tokens: task.delegatedTokens,
    budget_tokens: task.budgetTokens,
    usage: task.hasCounts ? usageOf(task.counts) : null,
    cost: ownCost(task, prices),
    started_at: isoOrNull(task.startedAt),
    ended_at: isoOrNull(task.endedAt),
    parts: parts.map((part) => nodeOf(part, prices)),
  };
}

export const usageOf = (counts: Counts): Usage => ({
  input_tokens: counts.input,
  output_tokens: counts.output,
  cache_read_tokens: counts.cacheRead,
  cache_write_tokens: counts.cacheWrite,
  reasoning_tokens: counts.reasoning,
});
