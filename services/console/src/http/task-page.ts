import { FleetError } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import type { Prices } from '../config/token-prices.ts';
import { attemptsOf } from '../projection/attempts.ts';
import { describeEvent } from '../projection/describe.ts';
import { usageOf } from '../projection/project-task.ts';
import { findTask, iso, isoOrNull, type TaskRecord } from '../read-model/task-rows.ts';
import { nodesOf, parentOf, type Tree, treesOf, WHOLE_PART } from '../read-model/task-tree.ts';
import { eventsOf, MAX_ENTRIES, type StoredEvent, timelineOf } from '../read-model/timeline.ts';
import { ownCost, treeCost } from './costs.ts';
import type { ApiOptions } from './options.ts';
import { taskRow } from './task-row.ts';

export interface TaskParams {
  readonly profile: string;
  readonly id: string;
}

/** `GET /api/tasks/:profile/:id` (docs/console.md#api). Throws TASK_NOT_FOUND. */
export function registerTaskPage(scope: FastifyInstance, { store, prices }: ApiOptions): void {
  scope.get<{ Params: TaskParams }>('/api/tasks/:profile/:id', ({ params: { profile, id } }) =>
    store.read((db) => {
      const task = findTask(db, profile, id);
      if (task) return taskDocument(db, task, prices);
      throw new FleetError('TASK_NOT_FOUND', `no event of task ${id} at ${profile} is known`);
    }),
  );
}

function taskDocument(db: Queries, task: TaskRecord, prices: Prices) {
  const [tree = { task, parts: [] }] = treesOf(db, [task], WHOLE_PART);
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
    timeline: events.map(timelineEntry),
    /** True when older entries were left out of the timeline, which has at most 2,000. */
    truncated,
    tree: nodeOf(tree, prices),
    parent: parent ? { profile: parent.profile, id: parent.id, task_id: parent.taskId } : unknownParent,
    trace_id: task.traceId,
  };
}

/** `GET /api/tasks/:profile/:id`. */
export type TaskDocument = ReturnType<typeof taskDocument>;
export type Attempt = TaskDocument['attempts'][number];

/** One entry of a task's timeline; `data` has names, sizes, codes and outcomes only. */
function timelineEntry({ task: { profile, id }, at, type, data }: StoredEvent) {
  const known: Readonly<Record<string, unknown>> = data;
  return {
    at: iso(at),
    profile,
    /** The A2A task id at that profile. */
    id,
    type,
    /** One sentence of plain English that says what happened. */
    text: describeEvent(type, data),
    data: known,
  };
}

export type TimelineEntry = ReturnType<typeof timelineEntry>;

/** A task in the tree of delegations. */
export interface TaskNode extends ReturnType<typeof ownNode> {
  readonly parts: readonly TaskNode[];
}

const nodeOf = ({ task, parts }: Tree, prices: Prices): TaskNode => ({
  ...ownNode(task, prices),
  parts: parts.map((part) => nodeOf(part, prices)),
});

const ownNode = (task: TaskRecord, prices: Prices) => ({
  profile: task.profile,
  id: task.id,
  task_id: task.taskId,
  state: task.state,
  model: task.model,
  model_tier: task.modelTier,
  /** Own tokens, without those of its parts. */
  own_tokens: task.ownTokens,
  delegated_tokens: task.delegatedTokens,
  budget_tokens: task.budgetTokens,
  usage: task.hasCounts ? usageOf(task.counts) : null,
  cost: ownCost(task, prices),
  started_at: isoOrNull(task.startedAt),
  ended_at: isoOrNull(task.endedAt),
});
