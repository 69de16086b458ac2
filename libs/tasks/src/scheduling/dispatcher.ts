import { isTerminal, type Ledger, type Question, type TaskRecord } from '@hermes-fleet/ledger';
import {
  type AdmittedTask,
  type Caller,
  type Clock,
  FleetError,
  type Log,
  readDispatch,
  type TaskDispatch,
  type Unmet,
  versionOf,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { answerDueAt, openQuestion, unansweredError } from '../running/ask-caller.ts';
import { persist } from '../running/persist.ts';
import {
  blockedEnding,
  type Ending,
  encodeEnding,
  endingData,
  errorOutcome,
} from '../running/task-result.ts';
import { deadlineExceeded } from '../running/timers.ts';
import { estimateTokens } from './estimate-tokens.ts';
import type { Expiry, TaskQueue } from './task-queue.ts';

/** A lane and what admits to it. */
export interface Destination {
  readonly queue: TaskQueue;
  /** How often a task of this lane may be interrupted and taken up again. */
  readonly maxResumes: number;
  /** Everything unmet; empty admits. */
  check(dispatch: TaskDispatch, caller: Caller): Promise<Unmet[]>;
}

export interface DispatcherOptions {
  readonly profile: string;
  /** The handshake versions that this profile speaks. */
  readonly versions: readonly string[];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  /** Who executes a dispatch. */
  readonly destinationOf: (dispatch: TaskDispatch) => Destination;
  readonly queues: readonly TaskQueue[];
  /** How long a question to a caller waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  readonly closing: AbortSignal;
}

/** Takes a task from the ledger through admission into a lane, and out again when it must not run. */
export interface Dispatcher {
  /** Admits a task, once however often it is called at a time; resolves when it is queued or blocked, durably. */
  submit(record: TaskRecord, caller: Caller): Promise<void>;
  /** Takes up a task that a former process left (design 3, Resume). */
  resume(record: TaskRecord, caller: Caller): Promise<void>;
  /** A task's caller has answered, durably: it goes on. */
  answered(taskId: string): void;
  cancel(taskId: string): Promise<void>;
  /** Ends a task whose deadline passed while it waited. */
  expire(task: AdmittedTask): Promise<void>;
  /** Resolves when no admission is under way. */
  idle(): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const admitting = new Map<string, Promise<void>>();
  const laneWith = (taskId: string) => options.queues.find((lane) => lane.has(taskId));
  const fieldsOf = ({ id, contextId, caller }: TaskRecord) => ({
    task_id: id,
    context_id: contextId,
    caller,
  });

  async function end(record: Pick<TaskRecord, 'id' | 'dispatch'>, ending: Ending): Promise<boolean> {
    const store = { ...options, taskId: record.id, signal: options.closing };
    const event = { type: ending.event, data: endingData(ending) };
    const written = await persist(store, () =>
      options.ledger.append(record.id, event, {
        result: encodeEnding(ending, versionOf(record.dispatch), options.versions),
      }),
    );
    if (!written) return false;
    options.metrics.taskEnded(tierOf(record.id), ending.event, 0);
    return true;
  }

  const tierOf = (taskId: string): string =>
    (laneWith(taskId) ?? options.queues[0])?.executor.model.tier ?? 'none';

  async function block(
    record: TaskRecord,
    taskId: string,
    unmet: readonly Unmet[],
    saved: number,
  ): Promise<void> {
    const ending = blockedEnding(taskId, unmet, options.profile);
    if (!(await end(record, ending))) return;
    options.metrics.admission('blocked', unmet[0]?.kind ?? 'peer');
    options.metrics.tokensSaved(saved);
    const fields = { ...fieldsOf(record), unmet: unmet.map(({ kind }) => kind) };
    options.log.info(fields, `task blocked: ${ending.result.blockedReason}`);
  }

  async function decide(record: TaskRecord, caller: Caller): Promise<void> {
    const reading = readDispatch(record.dispatch, options.versions);
    if (reading.kind === 'foreign') return block(record, reading.taskId ?? record.key, reading.unmet, 0);
    const { dispatch } = reading;
    const { queue: lane, check: judge } = options.destinationOf(dispatch);
    const unmet = await judge(dispatch, caller);
    if (unmet.length === 0 && !lane.reserve()) unmet.push(queueFull(options.profile, lane.waiting));
    if (unmet.length > 0) return block(record, reading.taskId, unmet, estimateTokens(dispatch));
    try {
      const data = { lane: lane.name, priority: dispatch.task.priority ?? 'normal' };
      const store = { ...options, taskId: record.id, signal: options.closing };
      const queued = await persist(store, () =>
        options.ledger.append(record.id, { type: 'queued', data }, { state: 'queued' }),
      );
      if (!queued) return;
    } finally {
      lane.release();
    }
    options.metrics.admission('accepted', 'none');
    lane.add(admitted(record, dispatch, caller), record.createdAt, false);
  }

  /**
   * A task whose admission broke is ended, not left hanging. Never rejects: the task is durable already, so its caller
   * must not take an error for a refusal and have it run elsewhere; what can't be written is left to the next start.
   */
  async function decideOrFail(record: TaskRecord, caller: Caller): Promise<void> {
    try {
      await decide(record, caller);
    } catch (error) {
      options.log.error({ ...fieldsOf(record), err: error }, 'admission failed');
      if (options.closing.aborted) return;
      await end(record, errorEnding(record.key, options.profile, FleetError.from(error))).catch((err) =>
        options.log.error({ ...fieldsOf(record), err }, 'failed admission could not be written'),
      );
    }
  }

  function submit(record: TaskRecord, caller: Caller): Promise<void> {
    const under = admitting.get(record.id);
    if (under) return under;
    // Read again: a copy of a dispatch may hold a record from before the first one was decided.
    if (options.ledger.get(record.id)?.state !== 'submitted') return Promise.resolve();
    const work = decideOrFail(record, caller).finally(() => admitting.delete(record.id));
    admitting.set(record.id, work);
    return work;
  }

  async function resume(record: TaskRecord, caller: Caller): Promise<void> {
    if (record.state === 'submitted') return submit(record, caller);
    const dispatch = decodedOf(record, options.versions);
    if (dispatch instanceof FleetError) {
      options.log.error({ ...fieldsOf(record), err: dispatch }, 'unfinished task cannot be taken up');
      await end(record, errorEnding(record.key, options.profile, dispatch));
      return;
    }
    const { queue: lane, maxResumes } = options.destinationOf(dispatch);
    const asked = record.state === 'input_required' ? openQuestion(options.ledger, record.id) : undefined;
    if (asked) {
      const task = admitted(record, dispatch, caller);
      lane.hold(task, record.createdAt, expiryOf(task, asked, options.maxInputWaitMs));
      options.log.info(fieldsOf(record), 'task still waits for the answer of its caller');
      return;
    }
    const interrupted = record.state === 'working';
    const resumes = record.resumes + (interrupted ? 1 : 0);
    if (resumes > maxResumes) {
      const reason = `the task was interrupted ${resumes} times; at most ${maxResumes} resumes are tried`;
      const ending = errorEnding(record.key, options.profile, {
        code: 'max_resumes',
        message: reason,
        retryable: true,
      });
      await end(record, {
        ...ending,
        result: { ...ending.result, tokensSpent: spentOn(options.ledger, record.id) },
      });
      return;
    }
    await options.ledger.append(
      record.id,
      { type: 'resumed', data: { resumes } },
      { state: 'queued', resumes },
    );
    options.metrics.resumed();
    options.log.info({ ...fieldsOf(record), resumes }, 'task taken up again');
    const hasBegun = options.ledger.loadCheckpoint(record.id) !== undefined;
    lane.add(admitted({ ...record, resumes }, dispatch, caller), record.createdAt, hasBegun);
  }

  async function cancel(taskId: string): Promise<void> {
    await admitting.get(taskId);
    const lane = laneWith(taskId);
    const reason = new FleetError('CANCELED', 'the task was canceled by its caller');
    const run = lane?.runOf(taskId) ?? lane?.endHeld(taskId, reason);
    if (run) {
      run.abort(reason);
      await run.finished;
    } else {
      lane?.withdraw(taskId);
      const record = options.ledger.get(taskId);
      if (record && !isTerminal(record.state)) await end(record, canceledEnding(record, options));
    }
    const record = options.ledger.get(taskId);
    if (record?.state === 'canceled') return;
    if (record && !isTerminal(record.state))
      throw new FleetError('SHUTTING_DOWN', `task ${taskId} is kept for the next start: cancel it then`);
    throw new FleetError(
      'TASK_NOT_CANCELABLE',
      `task ${taskId} has already ended (${record?.state ?? 'unknown'})`,
    );
  }

  async function expire(task: AdmittedTask): Promise<void> {
    const record = options.ledger.get(task.id);
    if (!record) return;
    const { deadline = '' } = task.dispatch;
    const spent = spentOn(options.ledger, task.id);
    if (record.resumes === 0 && spent === 0) {
      const detail = `the deadline ${deadline} passed while the task was queued`;
      const unmet: Unmet[] = [{ kind: 'deadline', name: deadline, detail, transient: false }];
      return block(record, task.dispatch.task.taskId, unmet, estimateTokens(task.dispatch));
    }
    const message = `the deadline ${deadline} passed before the interrupted task could go on`;
    const ending = errorEnding(record.key, options.profile, {
      code: 'deadline_exceeded',
      message,
      retryable: false,
    });
    await end(record, { ...ending, result: { ...ending.result, tokensSpent: spent } });
  }

  return {
    submit,
    resume,
    answered: (taskId) => laneWith(taskId)?.continueHeld(taskId),
    cancel,
    expire,
    idle: async () => {
      await Promise.allSettled(admitting.values());
    },
  };
}

/** When a task that waits for its caller is ended: at its deadline, or when it has waited long enough. */
function expiryOf({ deadlineAt, dispatch }: AdmittedTask, asked: Question, maxInputWaitMs: number): Expiry {
  const since = asked.askedAt;
  const until = answerDueAt(asked, maxInputWaitMs);
  if (deadlineAt === undefined || deadlineAt > until)
    return { since, until, reason: unansweredError(maxInputWaitMs) };
  return { since, until: deadlineAt, reason: deadlineExceeded(dispatch.deadline) };
}

function admitted(record: TaskRecord, dispatch: TaskDispatch, caller: Caller): AdmittedTask {
  const deadlineAt = dispatch.deadline === undefined ? undefined : Date.parse(dispatch.deadline);
  return {
    id: record.id,
    contextId: record.contextId,
    caller,
    dispatch,
    deadlineAt,
    resumes: record.resumes,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
  };
}

/** The dispatch of a task that a former version may have admitted. */
function decodedOf(record: TaskRecord, spoken: readonly string[]): TaskDispatch | FleetError {
  try {
    const reading = readDispatch(record.dispatch, spoken);
    if (reading.kind === 'dispatch') return reading.dispatch;
    return new FleetError(
      'INTERNAL',
      `the dispatch of task ${record.id} is of a version that is not spoken any more`,
    );
  } catch (error) {
    return FleetError.from(error);
  }
}

function errorEnding(
  taskId: string,
  profile: string,
  error: { code: string; message: string; retryable: boolean },
): Ending {
  const { result } = blockedEnding(taskId, [], profile);
  const { unmet: _unmet, ...rest } = result;
  const outcome = errorOutcome(error.code, error.message, error.retryable);
  return { event: 'error', result: { ...rest, ...outcome } };
}

function canceledEnding(record: TaskRecord, options: DispatcherOptions): Ending {
  const message = 'the task was canceled by its caller before it ran';
  const ending = errorEnding(record.key, options.profile, { code: 'canceled', message, retryable: false });
  return { event: 'canceled', result: { ...ending.result, tokensSpent: spentOn(options.ledger, record.id) } };
}

function queueFull(profile: string, waiting: number): Unmet {
  const detail = `the queue of ${profile} is full (${waiting} waiting)`;
  return { kind: 'capacity', name: 'queue', detail, transient: true };
}

function spentOn(ledger: Ledger, taskId: string): number {
  return ledger.tokens
    .entries(taskId)
    .reduce((sum, entry) => sum + entry.inputTokens + entry.outputTokens, 0);
}
