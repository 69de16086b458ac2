import type { FleetError } from '@hermes-fleet/protocol';
import type { AdmittedTask, Clock, Executor } from '@hermes-fleet/protocol/ports';
import type { Acceptance } from '../running/persist.ts';
import type { Slot } from '../running/run-context.ts';
import { type Run, type RunnerOptions, type RunRequest, startRun } from '../running/runner.ts';
import { callAt, deadlineExceeded } from '../running/timers.ts';
import type { Lane } from './lane.ts';
import type { Scheduler, Ticket } from './scheduler.ts';
import type { Needs, Turn } from './turn.ts';

export type TaskQueue = ReturnType<typeof createTaskQueue>;

/** The time for which a task is held, ms since the epoch, and the reason of its end. */
export interface Expiry {
  readonly since: number;
  readonly until: number;
  readonly reason: FleetError;
}

interface QueuedTask {
  readonly ticket: Ticket;
  readonly request: RunRequest;
  run: Run | undefined;
  /** Ends the task's wait for its turn or for its caller. */
  expiry: Disposable | undefined;
  /** The task waits for its caller since a former process. */
  asks: Disposable | undefined;
}

export interface TaskQueueOptions {
  readonly name: string;
  readonly executor: Executor;
  readonly scheduler: Scheduler;
  readonly lane: Lane;
  /** The executor waits for the places of its tasks itself: each runs as soon as it has its context. */
  readonly assignsPlaces?: boolean;
  readonly runner: RunnerOptions;
  readonly clock: Clock;
  /** Is called with a task that was removed because its deadline passed while it waited. */
  readonly onExpired: (task: AdmittedTask) => void;
  /** Is called after the load has changed. */
  readonly onChange: () => void;
}

const SLOT: Disposable = { [Symbol.dispose]: () => undefined };
/** The executor has its own places. */
const NO_SLOT: Slot = { release: () => undefined, reacquire: () => Promise.resolve() };

/** The admitted tasks of one executor. A profile has a queue for its own tasks and one for relayed tasks. */
export function createTaskQueue(options: TaskQueueOptions) {
  const { scheduler, lane, executor, clock, assignsPlaces = false } = options;
  const tasks = new Map<string, QueuedTask>();
  let stopped = false;

  const slotNeeds: Needs = { key: options.name };
  const needs = (): Needs => slotNeeds;
  const reserve = (): Disposable | undefined => (stopped ? undefined : SLOT);
  const turn = (begin: () => void): Turn => ({ needs, reserve, to: 'running', begin });

  function add(
    task: AdmittedTask,
    receivedAt: number,
    state: 'submitted' | 'asking',
    hasBegun: boolean,
    acceptance?: Acceptance,
  ): QueuedTask {
    const { id: taskId, contextId, caller, dispatch } = task;
    const priority = dispatch.task.priority ?? 'normal';
    const named = { taskId, contextId: `${options.name} ${contextId}`, caller: caller.name };
    const ticket = scheduler.add(lane, { ...named, priority, receivedAt }, state, hasBegun);
    const slot = assignsPlaces ? NO_SLOT : slotOf(ticket);
    const request = { task, executor, receivedAt, slot, ...(acceptance && { acceptance }) };
    const added: QueuedTask = { ticket, request, run: undefined, expiry: undefined, asks: undefined };
    tasks.set(taskId, added);
    return added;
  }

  function start(queued: QueuedTask, change?: Partial<RunRequest>): Run | undefined {
    const { ticket, request } = queued;
    endWait(queued);
    if (stopped) return undefined;
    const run = startRun(options.runner, change ? { ...request, ...change } : request);
    queued.run = run;
    void run.finished.then(() => {
      tasks.delete(request.task.id);
      ticket.end();
    });
    return run;
  }

  function endWait(queued: QueuedTask): void {
    queued.expiry?.[Symbol.dispose]();
    queued.asks?.[Symbol.dispose]();
    queued.expiry = undefined;
    queued.asks = undefined;
  }

  /** Removes a waiting task; false if it does not wait in this queue. */
  function withdraw(taskId: string): boolean {
    const queued = tasks.get(taskId);
    if (!queued || queued.run || queued.ticket.state !== 'queued') return false;
    endWait(queued);
    tasks.delete(taskId);
    queued.ticket.end();
    return true;
  }

  /** Lets the executor end a task that a former process began and this one has not run; undefined for other tasks. */
  function endHeld(taskId: string, reason: FleetError): Run | undefined {
    const queued = tasks.get(taskId);
    if (stopped || !queued?.ticket.hasBegun || queued.run) return undefined;
    // Ending needs no slot.
    queued.ticket.leave();
    return start(queued, { endReason: reason });
  }

  function slotOf(ticket: Ticket): Slot {
    return {
      release() {
        // A run that only ends a task has no slot.
        if (ticket.state === 'running') ticket.ask();
      },
      reacquire: (signal) =>
        new Promise((resolve) => {
          const done = (): void => {
            signal.removeEventListener('abort', onAbort);
            resolve();
          };
          const onAbort = (): void => {
            ticket.leave();
            done();
          };
          if (signal.aborted) {
            done();
            return;
          }
          signal.addEventListener('abort', onAbort, { once: true });
          ticket.queue(turn(done));
        }),
    };
  }

  /** Ends a wait at the deadline of the task. */
  function expireAtDeadline(queued: QueuedTask): void {
    const { task } = queued.request;
    if (task.deadlineAt === undefined) return;
    const expire = (): void => {
      if (endHeld(task.id, deadlineExceeded(task.dispatch.deadline))) return;
      if (withdraw(task.id)) options.onExpired(task);
    };
    queued.expiry = callAt(clock, task.deadlineAt, expire);
  }

  function enqueue(queued: QueuedTask): void {
    expireAtDeadline(queued);
    const begin = (): void => void start(queued);
    if (assignsPlaces) queued.ticket.enterContext(begin);
    else queued.ticket.queue(turn(begin));
  }

  lane.onChange(options.onChange);

  return {
    name: options.name,
    executor,
    get waiting(): number {
      return lane.waiting;
    },
    get running(): number {
      return lane.running;
    },
    /** Tasks that began, and wait without a slot. */
    get parked(): number {
      return lane.asking;
    },
    /** How many tasks that are admitted now can start at once. */
    get freeSlots(): number {
      return assignsPlaces ? lane.freePlaces : scheduler.freePlacesOf(lane);
    },
    /** No further task of this caller can be admitted. */
    isFullFor: (caller: string): boolean => lane.isFullFor(caller),
    /** Reserves room for a task in admission; false if there is none. */
    reserve: (caller: string): boolean => lane.reserve(caller),
    release: (caller: string): void => lane.release(caller),
    /** Enqueues an admitted task of a former process, and runs it in its turn. `hasBegun`: that one ran a part of it. */
    add: (task: AdmittedTask, receivedAt: number, hasBegun: boolean): void =>
      enqueue(add(task, receivedAt, 'submitted', hasBegun)),
    /** Enqueues a task that is being accepted, and runs it in its turn. Its caller withdraws it if it is not stored. */
    addNew: (task: AdmittedTask, receivedAt: number, acceptance: Acceptance): void =>
      enqueue(add(task, receivedAt, 'submitted', false, acceptance)),
    /**
     * Holds a task that waits for its caller since a former process. It keeps its context, has no slot, and does not run,
     * unless its executor assigns the places. It ends at its expiry, unless it continues before.
     */
    holdTask(task: AdmittedTask, receivedAt: number, { since, until, reason }: Expiry): void {
      const queued = add(task, receivedAt, 'asking', true);
      if (assignsPlaces) start(queued, { waitsForCaller: true });
      else {
        queued.asks = options.runner.questionWaits.add(since);
        queued.expiry = callAt(clock, until, () => void endHeld(task.id, reason));
      }
    },
    /** Enqueues a held task to continue. Ignores other tasks. */
    continueHeld(taskId: string): void {
      const queued = tasks.get(taskId);
      if (stopped || !queued?.asks) return;
      endWait(queued);
      const { deadlineAt, dispatch } = queued.request.task;
      if (deadlineAt !== undefined) {
        const reason = deadlineExceeded(dispatch.deadline);
        queued.expiry = callAt(clock, deadlineAt, () => void endHeld(taskId, reason));
      }
      queued.ticket.queue(turn(() => void start(queued)));
    },
    endHeld,
    withdraw,
    /** The current run of a task. */
    runOf: (taskId: string): Run | undefined => tasks.get(taskId)?.run,
    has: (taskId: string): boolean => tasks.has(taskId),
    /**
     * Starts no further task, and stops each run at its next checkpoint, or at once when `hardStop` aborts. Resolves when
     * all runs have ended.
     */
    async stop(reason: FleetError, hardStop: AbortSignal): Promise<void> {
      stopped = true;
      const open: Run[] = [];
      for (const queued of tasks.values()) {
        endWait(queued);
        if (queued.run) open.push(queued.run);
      }
      for (const run of open) run.pause(reason);
      const abort = (): void => {
        for (const run of open) run.abort(reason);
      };
      if (hardStop.aborted) abort();
      else hardStop.addEventListener('abort', abort, { once: true });
      await Promise.all(open.map(({ finished }) => finished));
      hardStop.removeEventListener('abort', abort);
    },
  };
}
