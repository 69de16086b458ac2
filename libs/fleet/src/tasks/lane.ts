import type { AdmittedTask, Clock, Executor, FleetError, Priority } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { type QueueLimits, TaskQueue } from './queue.ts';
import type { Slot } from './run-context.ts';
import { type Run, type RunnerOptions, type RunRequest, startRun } from './runner.ts';
import { callAt } from './schedule.ts';

/** A queue and the executor that works it off: one for own tasks, one for relayed ones. */
export interface Lane {
  readonly name: string;
  readonly executor: Executor;
  readonly waiting: number;
  readonly running: number;
  /** Tasks that began and wait for something, without a slot. */
  readonly parked: number;
  readonly full: boolean;
  reserve(): boolean;
  release(): void;
  /** Puts an admitted task in line, and starts it as soon as its turn comes. */
  add(task: AdmittedTask, receivedAt: number): void;
  /** Takes a waiting task out of line; false when it does not wait here. */
  withdraw(taskId: string): boolean;
  /** The run of a task, while it runs here. */
  run(taskId: string): Run | undefined;
  holds(taskId: string): boolean;
  /**
   * Starts nothing any more and ends what runs: at its next checkpoint, and at once when `patience` aborts. Resolves when
   * all of it has ended.
   */
  stop(reason: FleetError, patience: AbortSignal): Promise<void>;
  /** Brings the gauges up to date. */
  gauge(): void;
}

interface Entry {
  readonly taskId: string;
  readonly contextId: string;
  readonly priority: Priority;
  readonly request: RunRequest;
}

export interface LaneOptions {
  readonly name: string;
  readonly executor: Executor;
  readonly limits: QueueLimits;
  readonly runner: RunnerOptions;
  readonly clock: Clock;
  readonly metrics: FleetMetrics;
  /** A task's deadline passed while it waited; it is out of line already. */
  readonly onExpired: (task: AdmittedTask) => void;
  /** Something about the load has changed. */
  readonly onChange: () => void;
}

export function createLane(o: LaneOptions): Lane {
  const queue = new TaskQueue<Entry>(o.limits, o.clock);
  const runs = new Map<string, Run>();
  const deadlines = new Map<string, Disposable>();
  /** Parked runs that are in line for a slot again. */
  const returning = new Map<string, () => void>();
  let stopped = false;

  function forget(taskId: string): void {
    deadlines.get(taskId)?.[Symbol.dispose]();
    deadlines.delete(taskId);
  }

  function withdraw(taskId: string): boolean {
    forget(taskId);
    const removed = queue.remove(taskId) !== undefined;
    if (removed) changed();
    return removed;
  }

  function pump(): void {
    for (let entry = stopped ? undefined : queue.next(); entry; entry = queue.next()) {
      const { taskId, request } = entry;
      const back = returning.get(taskId);
      if (back) {
        back();
        continue;
      }
      forget(taskId);
      const run = startRun(o.runner, request);
      runs.set(taskId, run);
      void run.finished.then(() => {
        runs.delete(taskId);
        queue.finished(taskId);
        pump();
      });
    }
    changed();
  }

  function slotOf(taskId: string): Slot {
    return {
      leave() {
        queue.park(taskId);
        pump();
      },
      retake: (signal) =>
        new Promise((resolve) => {
          const done = (): void => {
            returning.delete(taskId);
            signal.removeEventListener('abort', givenUp);
            resolve();
          };
          const givenUp = (): void => {
            queue.park(taskId);
            done();
          };
          returning.set(taskId, done);
          signal.addEventListener('abort', givenUp, { once: true });
          queue.unpark(taskId);
          if (signal.aborted) givenUp();
          else pump();
        }),
    };
  }

  function changed(): void {
    gauge();
    o.onChange();
  }

  function gauge(): void {
    o.metrics.queueDepth(o.name, queue.waiting);
    o.metrics.queueOldestAge(o.name, queue.oldestAgeMs() / 1000);
  }

  return {
    name: o.name,
    executor: o.executor,
    get waiting() {
      return queue.waiting;
    },
    get running() {
      return queue.running;
    },
    get parked() {
      return queue.parked;
    },
    get full() {
      return queue.full;
    },
    reserve: () => queue.reserve(),
    release: () => queue.release(),
    add(task, receivedAt) {
      const { id: taskId, contextId, dispatch } = task;
      const request = { task, executor: o.executor, receivedAt, slot: slotOf(taskId) };
      queue.add({ taskId, contextId, priority: dispatch.task.priority ?? 'normal', request });
      if (task.deadlineAt !== undefined) {
        const expire = (): void => {
          if (withdraw(taskId)) o.onExpired(task);
        };
        deadlines.set(taskId, callAt(o.clock, task.deadlineAt, expire));
      }
      pump();
    },
    withdraw,
    run: (taskId) => runs.get(taskId),
    holds: (taskId) => queue.has(taskId),
    async stop(reason, patience) {
      stopped = true;
      for (const timer of deadlines.values()) timer[Symbol.dispose]();
      deadlines.clear();
      const left = [...runs.values()];
      for (const run of left) run.pause(reason);
      const abort = (): void => {
        for (const run of left) run.abort(reason);
      };
      if (patience.aborted) abort();
      else patience.addEventListener('abort', abort, { once: true });
      await Promise.all(left.map(({ finished }) => finished));
      patience.removeEventListener('abort', abort);
    },
    gauge,
  };
}
