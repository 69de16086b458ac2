import type { AdmittedTask, Clock, Executor, FleetError, Priority } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import type { Slot } from '../running/run-context.ts';
import { type Run, type RunnerOptions, type RunRequest, startRun } from '../running/runner.ts';
import { callAt, deadlineExceeded } from '../running/timers.ts';
import { type QueueLimits, SlotScheduler } from './slot-scheduler.ts';

/** A task queue with its own slots and executor. A profile has one for its own tasks and one for relayed tasks. */
export interface TaskQueue {
  readonly name: string;
  readonly executor: Executor;
  readonly waiting: number;
  readonly running: number;
  /** Tasks that began, and wait without a slot. */
  readonly parked: number;
  readonly full: boolean;
  /** How many tasks that are admitted now can start at once. */
  readonly freeSlots: number;
  reserve(): boolean;
  release(): void;
  /** Enqueues an admitted task, and runs it in its turn. `hasBegun`: a former process ran a part of it. */
  add(task: AdmittedTask, receivedAt: number, hasBegun: boolean): void;
  /**
   * Holds a task that waits for its caller since a former process. It keeps its context, has no slot, and does not run,
   * except with `recoversWithoutSlot`. It ends at its expiry, unless it continues before.
   */
  hold(task: AdmittedTask, receivedAt: number, expiry: Expiry): void;
  /** Enqueues a held task to continue. Ignores other tasks. */
  continueHeld(taskId: string): void;
  /** Lets the executor end a task that a former process began and this one has not run; undefined for other tasks. */
  endHeld(taskId: string, reason: FleetError): Run | undefined;
  /** Removes a waiting task; false if it does not wait in this queue. */
  withdraw(taskId: string): boolean;
  /** The current run of a task. */
  runOf(taskId: string): Run | undefined;
  has(taskId: string): boolean;
  /**
   * Starts no further task, and stops each run at its next checkpoint, or at once when `hardStop` aborts. Resolves when
   * all runs have ended.
   */
  stop(reason: FleetError, hardStop: AbortSignal): Promise<void>;
  /** Updates the gauges. */
  gauge(): void;
}

/** The time for which a task is held, ms since the epoch, and the reason of its end. */
export interface Expiry {
  readonly since: number;
  readonly until: number;
  readonly reason: FleetError;
}

interface HeldTask {
  readonly request: RunRequest;
  /** Set while the task waits for its caller. */
  readonly wait?: Disposable;
  /** The task waits for a slot. */
  readonly continues: boolean;
}

interface QueuedTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
  readonly request: RunRequest;
}

export interface TaskQueueOptions {
  readonly name: string;
  readonly executor: Executor;
  readonly limits: QueueLimits;
  readonly runner: RunnerOptions;
  readonly clock: Clock;
  readonly metrics: FleetMetrics;
  /**
   * Running the executor costs nothing, so tasks that a former process began need no slot: a held task
   * runs at once, and the executor also ends a task that waits for its slot.
   */
  readonly recoversWithoutSlot?: boolean;
  /** Is called with a task that was removed because its deadline passed while it waited. */
  readonly onExpired: (task: AdmittedTask) => void;
  /** Is called after the load has changed. */
  readonly onChange: () => void;
}

export function createTaskQueue(options: TaskQueueOptions): TaskQueue {
  const scheduler = new SlotScheduler<QueuedTask>(options.limits, options.clock);
  const runs = new Map<string, Run>();
  const deadlines = new Map<string, Disposable>();
  /** Parked runs that wait for a slot again, by task ID. */
  const returning = new Map<string, () => void>();
  /** Tasks that began in a former process and have not run in this one, by task ID. */
  const held = new Map<string, HeldTask>();
  let stopped = false;

  function clearDeadline(taskId: string): void {
    deadlines.get(taskId)?.[Symbol.dispose]();
    deadlines.delete(taskId);
  }

  function withdraw(taskId: string): boolean {
    clearDeadline(taskId);
    const removed = scheduler.remove(taskId) !== undefined;
    if (removed) loadChanged();
    return removed;
  }

  function startNext(): void {
    for (let entry = stopped ? undefined : scheduler.next(); entry; entry = scheduler.next()) {
      const { taskId, request } = entry;
      const resumeParked = returning.get(taskId);
      if (resumeParked) {
        resumeParked();
        continue;
      }
      start(taskId, request);
    }
    loadChanged();
  }

  function start(taskId: string, request: RunRequest): Run {
    clearDeadline(taskId);
    held.delete(taskId);
    const run = startRun(options.runner, request);
    runs.set(taskId, run);
    void run.finished.then(() => {
      runs.delete(taskId);
      scheduler.finished(taskId);
      startNext();
    });
    return run;
  }

  function endHeld(taskId: string, reason: FleetError): Run | undefined {
    const found = stopped ? undefined : held.get(taskId);
    if (!found) return undefined;
    found.wait?.[Symbol.dispose]();
    // Ending needs no slot: take the task out of the scheduler's order.
    scheduler.park(taskId);
    scheduler.remove(taskId);
    return start(taskId, { ...found.request, endReason: reason });
  }

  function continueHeld(taskId: string): void {
    const found = stopped ? undefined : held.get(taskId);
    if (!found || found.continues) return;
    held.set(taskId, { ...found, continues: true });
    found.wait?.[Symbol.dispose]();
    clearDeadline(taskId);
    const { deadlineAt, dispatch } = found.request.task;
    if (deadlineAt !== undefined) {
      const reason = deadlineExceeded(dispatch.deadline);
      deadlines.set(
        taskId,
        callAt(options.clock, deadlineAt, () => void endHeld(taskId, reason)),
      );
    }
    scheduler.unpark(taskId);
    startNext();
  }

  function slotOf(taskId: string): Slot {
    return {
      release() {
        scheduler.park(taskId);
        startNext();
      },
      reacquire: (signal) =>
        new Promise((resolve) => {
          const done = (): void => {
            returning.delete(taskId);
            signal.removeEventListener('abort', onAbort);
            resolve();
          };
          const onAbort = (): void => {
            scheduler.park(taskId);
            done();
          };
          returning.set(taskId, done);
          signal.addEventListener('abort', onAbort, { once: true });
          scheduler.unpark(taskId);
          if (signal.aborted) onAbort();
          else startNext();
        }),
    };
  }

  function entryOf(task: AdmittedTask, receivedAt: number): QueuedTask {
    const { id: taskId, contextId, dispatch } = task;
    const request = { task, executor: options.executor, receivedAt, slot: slotOf(taskId) };
    const priority = dispatch.task.priority ?? 'normal';
    return { taskId, contextId, caller: task.caller.name, priority, request };
  }

  function loadChanged(): void {
    gauge();
    options.onChange();
  }

  function gauge(): void {
    options.metrics.queueDepth(options.name, scheduler.waiting);
    options.metrics.queueOldestAge(options.name, scheduler.oldestAgeMs() / 1000);
  }

  return {
    name: options.name,
    executor: options.executor,
    get waiting() {
      return scheduler.waiting;
    },
    get running() {
      return scheduler.running;
    },
    get parked() {
      return scheduler.parked;
    },
    get full() {
      return scheduler.full;
    },
    get freeSlots() {
      return scheduler.freeSlots;
    },
    reserve: () => scheduler.reserve(),
    release: () => scheduler.release(),
    add(task, receivedAt, hasBegun) {
      const { id: taskId } = task;
      const entry = entryOf(task, receivedAt);
      scheduler.add(entry, hasBegun);
      if (hasBegun && options.recoversWithoutSlot)
        held.set(taskId, { request: entry.request, continues: true });
      if (task.deadlineAt !== undefined) {
        const expire = (): void => {
          if (endHeld(taskId, deadlineExceeded(task.dispatch.deadline))) return;
          if (withdraw(taskId)) options.onExpired(task);
        };
        deadlines.set(taskId, callAt(options.clock, task.deadlineAt, expire));
      }
      startNext();
    },
    hold(task, receivedAt, { since, until, reason }) {
      const { id: taskId } = task;
      const entry = entryOf(task, receivedAt);
      scheduler.hold(entry);
      if (options.recoversWithoutSlot) {
        start(taskId, { ...entry.request, waitsForCaller: true });
        loadChanged();
        return;
      }
      held.set(taskId, {
        request: entry.request,
        wait: options.runner.questionWaits.add(since),
        continues: false,
      });
      const end = (): void => void endHeld(taskId, reason);
      deadlines.set(taskId, callAt(options.clock, until, end));
      loadChanged();
    },
    continueHeld,
    endHeld,
    withdraw,
    runOf: (taskId) => runs.get(taskId),
    has: (taskId) => scheduler.has(taskId) || runs.has(taskId),
    async stop(reason, hardStop) {
      stopped = true;
      for (const timer of deadlines.values()) timer[Symbol.dispose]();
      deadlines.clear();
      const open = [...runs.values()];
      for (const run of open) run.pause(reason);
      const abort = (): void => {
        for (const run of open) run.abort(reason);
      };
      if (hardStop.aborted) abort();
      else hardStop.addEventListener('abort', abort, { once: true });
      await Promise.all(open.map(({ finished }) => finished));
      hardStop.removeEventListener('abort', abort);
    },
    gauge,
  };
}
