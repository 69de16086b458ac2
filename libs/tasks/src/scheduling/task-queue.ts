import type { AdmittedTask, Clock, Executor, FleetError, Priority } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import type { Slot } from '../running/run-context.ts';
import { type Run, type RunnerOptions, type RunRequest, startRun } from '../running/runner.ts';
import { callAt, deadlineExceeded } from '../running/timers.ts';
import { type QueueLimits, SlotScheduler } from './slot-scheduler.ts';

/** A queue and the executor that works it off: one for own tasks, one for relayed ones. */
export interface TaskQueue {
  readonly name: string;
  readonly executor: Executor;
  readonly waiting: number;
  readonly running: number;
  /** Tasks that began and wait for something, without a slot. */
  readonly parked: number;
  readonly full: boolean;
  reserve(): boolean;
  release(): void;
  /** Puts an admitted task in line, and starts it as soon as its turn comes. A former process may have begun it. */
  add(task: AdmittedTask, receivedAt: number, hasBegun: boolean): void;
  /**
   * Keeps a task that a former process left waiting for its caller: with its context, without a slot, not running. Unless
   * it goes on before, it is ended when `expiry` says. An executor that costs nothing is run meanwhile.
   */
  hold(task: AdmittedTask, receivedAt: number, expiry: Expiry): void;
  /** Has a task that is held go on, in its turn; nothing for any other. */
  continueHeld(taskId: string): void;
  /** Lets its executor end a task that a former process began, and that has no run here; undefined for any other. */
  endHeld(taskId: string, reason: FleetError): Run | undefined;
  /** Takes a waiting task out of line; false when it does not wait here. */
  withdraw(taskId: string): boolean;
  /** The run of a task, while it runs here. */
  runOf(taskId: string): Run | undefined;
  has(taskId: string): boolean;
  /**
   * Starts nothing any more and ends what runs: at its next checkpoint, and at once when `patience` aborts. Resolves when
   * all of it has ended.
   */
  stop(reason: FleetError, patience: AbortSignal): Promise<void>;
  /** Brings the gauges up to date. */
  gauge(): void;
}

/** How long a task is held, ms since the epoch, and why it ends then. */
export interface Expiry {
  readonly since: number;
  readonly until: number;
  readonly reason: FleetError;
}

interface HeldTask {
  readonly request: RunRequest;
  /** Counts it among those that wait for their callers. */
  readonly waiting?: Disposable;
  /** Whether it is in line for a slot. */
  readonly goesOn: boolean;
}

interface QueuedTask {
  readonly taskId: string;
  readonly contextId: string;
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
   * Whether its executor costs nothing to run, so that it needs no slot to look after what a former process began: a task
   * that waits for its caller is run beside the others, and one in line that is to end is ended by it.
   */
  readonly recoversWithoutSlot?: boolean;
  /** A task's deadline passed while it waited; it is out of line already. */
  readonly onExpired: (task: AdmittedTask) => void;
  /** Something about the load has changed. */
  readonly onChange: () => void;
}

export function createTaskQueue(options: TaskQueueOptions): TaskQueue {
  const queue = new SlotScheduler<QueuedTask>(options.limits, options.clock);
  const runs = new Map<string, Run>();
  const deadlines = new Map<string, Disposable>();
  /** Parked runs that are in line for a slot again. */
  const returning = new Map<string, () => void>();
  /** Tasks that began in a former process, and have had no run in this one, where their executor is to end them. */
  const held = new Map<string, HeldTask>();
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
      start(taskId, request);
    }
    changed();
  }

  function start(taskId: string, request: RunRequest): Run {
    forget(taskId);
    held.delete(taskId);
    const run = startRun(options.runner, request);
    runs.set(taskId, run);
    void run.finished.then(() => {
      runs.delete(taskId);
      queue.finished(taskId);
      pump();
    });
    return run;
  }

  function endHeld(taskId: string, reason: FleetError): Run | undefined {
    const found = stopped ? undefined : held.get(taskId);
    if (!found) return undefined;
    found.waiting?.[Symbol.dispose]();
    // It needs no slot to end, and must not get one on top.
    queue.park(taskId);
    queue.remove(taskId);
    return start(taskId, { ...found.request, endReason: reason });
  }

  function goOn(taskId: string): void {
    const found = stopped ? undefined : held.get(taskId);
    if (!found || found.goesOn) return;
    held.set(taskId, { ...found, goesOn: true });
    found.waiting?.[Symbol.dispose]();
    forget(taskId);
    const { deadlineAt, dispatch } = found.request.task;
    if (deadlineAt !== undefined) {
      const reason = deadlineExceeded(dispatch.deadline);
      deadlines.set(
        taskId,
        callAt(options.clock, deadlineAt, () => void endHeld(taskId, reason)),
      );
    }
    queue.unpark(taskId);
    pump();
  }

  function slotOf(taskId: string): Slot {
    return {
      release() {
        queue.park(taskId);
        pump();
      },
      reacquire: (signal) =>
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

  function entryOf(task: AdmittedTask, receivedAt: number): QueuedTask {
    const { id: taskId, contextId, dispatch } = task;
    const request = { task, executor: options.executor, receivedAt, slot: slotOf(taskId) };
    return { taskId, contextId, priority: dispatch.task.priority ?? 'normal', request };
  }

  function changed(): void {
    gauge();
    options.onChange();
  }

  function gauge(): void {
    options.metrics.queueDepth(options.name, queue.waiting);
    options.metrics.queueOldestAge(options.name, queue.oldestAgeMs() / 1000);
  }

  return {
    name: options.name,
    executor: options.executor,
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
    add(task, receivedAt, hasBegun) {
      const { id: taskId } = task;
      const entry = entryOf(task, receivedAt);
      queue.add(entry);
      if (hasBegun && options.recoversWithoutSlot) held.set(taskId, { request: entry.request, goesOn: true });
      if (task.deadlineAt !== undefined) {
        const expire = (): void => {
          if (endHeld(taskId, deadlineExceeded(task.dispatch.deadline))) return;
          if (withdraw(taskId)) options.onExpired(task);
        };
        deadlines.set(taskId, callAt(options.clock, task.deadlineAt, expire));
      }
      pump();
    },
    hold(task, receivedAt, { since, until, reason }) {
      const { id: taskId } = task;
      const entry = entryOf(task, receivedAt);
      queue.hold(entry);
      if (options.recoversWithoutSlot) {
        start(taskId, { ...entry.request, waitsForCaller: true });
        changed();
        return;
      }
      held.set(taskId, {
        request: entry.request,
        waiting: options.runner.questionWaits.enter(since),
        goesOn: false,
      });
      const end = (): void => void endHeld(taskId, reason);
      deadlines.set(taskId, callAt(options.clock, until, end));
      changed();
    },
    continueHeld: goOn,
    endHeld,
    withdraw,
    runOf: (taskId) => runs.get(taskId),
    has: (taskId) => queue.has(taskId) || runs.has(taskId),
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
