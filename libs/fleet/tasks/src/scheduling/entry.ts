import type { Lane } from './lane.ts';
import type { SchedulingState } from './states.ts';
import type { Needs, Turn } from './ticket.ts';
import type { WaitingTask } from './waiting-lines.ts';

/** The needs of a task that waits for its context alone. */
export const CONTEXT: Needs = { key: 'context' };
export const NO_PLACE: Disposable = { [Symbol.dispose]: () => undefined };

/** The scheduler's record of an unfinished task. */
export interface TaskEntry extends WaitingTask {
  readonly taskId: string;
  readonly lane: Lane;
  state: SchedulingState;
  needs: Needs;
  turn: Turn | undefined;
  place: Disposable | undefined;
  /** Start of the wait for a place, on the monotonic clock, ms. A refusal does not end it. */
  waitsSince: number | undefined;
  /** The turn of its caller before the task was served. */
  turnBefore: number | undefined;
  /** The turn that its caller gets back when the task waits again. */
  turnToGiveBack: number | undefined;
  /** Other tasks of its context were before it. */
  cameByContext: boolean;
}

export function newEntry(
  task: Pick<TaskEntry, 'taskId' | 'contextId' | 'caller' | 'priority'>,
  place: Pick<TaskEntry, 'lane' | 'state' | 'order' | 'since'>,
): TaskEntry {
  return {
    taskId: task.taskId,
    contextId: task.contextId,
    caller: task.caller,
    priority: task.priority,
    lane: place.lane,
    state: place.state,
    order: place.order,
    since: place.since,
    needs: CONTEXT,
    turn: undefined,
    place: undefined,
    waitsSince: undefined,
    turnBefore: undefined,
    turnToGiveBack: undefined,
    cameByContext: false,
    firstSince: undefined,
  };
}

/** True for a task in the lines. */
export const waits = (state: SchedulingState): boolean => state === 'waiting' || state === 'queued';
