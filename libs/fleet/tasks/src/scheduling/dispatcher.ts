import {
  isTerminal,
  type Ledger,
  type Question,
  type TaskEvent,
  type TaskRecord,
} from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import { readDispatch, type TaskDispatch, type Unmet } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Caller, Clock, Log } from '@hermes-fleet/protocol/ports';
import { usageOf } from '@hermes-fleet/protocol/tokens';
import type { FleetMetrics } from '@hermes-fleet/service';
import { answerDueAt, openQuestion, unansweredError } from '../running/ask-caller.ts';
import { type Decision, estimateTokens } from '../running/count-decision.ts';
import { recordFields } from '../running/lineage.ts';
import { createPersist } from '../running/persist.ts';
import { blockedEnding, type Ending, errorEnding } from '../running/task-result.ts';
import { deadlineExceeded } from '../running/timers.ts';
import { endedOutsideRun, writeEnding } from '../running/write-ending.ts';
import { type Arrival, acceptNew, admittedTask } from './accept-new.ts';
import { type Destination, judge } from './judge.ts';
import { type Accepted, createSharedAcceptances } from './shared-acceptances.ts';
import type { Expiry, TaskQueue } from './task-queue.ts';

export interface DispatcherOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly destinationOf: (dispatch: TaskDispatch) => Destination;
  readonly queues: readonly TaskQueue[];
  /** The longest time that a question waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  readonly closing: AbortSignal;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** Moves a task through admission into its task queue, and removes it when it must not run. */
export function createDispatcher(options: DispatcherOptions) {
  const { profile, versions, ledger, log, metrics, queues, destinationOf, maxInputWaitMs, closing } = options;
  const admitting = new Map<string, Promise<void>>();
  const acceptances = createSharedAcceptances(ledger, options.clock);
  const queueOf = (taskId: string) => queues.find((queue) => queue.has(taskId));

  const storeOf = (of: TaskRecord) => ({ ...options, fields: recordFields(of), signal: () => closing });

  function end(record: TaskRecord, ending: Ending, decision?: Decision): Promise<TaskEvent | undefined> {
    const cost = { usage: usageOf(ledger.tokens.entries(record.id)), tier: tierOf(record.id) };
    const writes = { ledger, versions, signal: closing };
    return writeEnding(
      writes,
      endedOutsideRun(record, { ...cost, decision }),
      ending,
      createPersist(storeOf(record)),
    );
  }

  /** The ending with an error, and with what former runs have spent. */
  function failure({ id, key }: TaskRecord, code: string, message: string, retryable: boolean): Ending {
    const { event, result } = errorEnding(key, profile, { code, message, retryable });
    return { event, result: { ...result, tokensSpent: spentOn(ledger, id) } };
  }

  const tierOf = (taskId: string): string => (queueOf(taskId) ?? queues[0])?.executor.model.tier ?? 'none';

  const accepting = { ...options, tier: () => tierOf('') };
  /** Resolves when it is decided whether a task is stored, and what its admission says. */
  const decided = (taskId: string): Promise<unknown> => admitting.get(taskId) ?? acceptances.pending(taskId);

  async function block(
    record: TaskRecord,
    taskId: string,
    unmet: readonly Unmet[],
    saved: number,
  ): Promise<void> {
    const ending = blockedEnding(taskId, unmet, profile);
    if (!(await end(record, ending, { kind: 'blocked', unmet, saved }))) return;
    const fields = { ...recordFields(record), unmet: unmet.map(({ kind }) => kind) };
    log.info(fields, `task blocked: ${ending.result.blockedReason}`);
  }

  /** Admits a task that a former process stored before it judged it. */
  async function admit(record: TaskRecord, caller: Caller): Promise<void> {
    const { id, key } = record;
    const reading = readDispatch(record.dispatch, versions);
    const verdict = await judge(options, { id, key, reading, caller });
    if (verdict.kind === 'blocked') return block(record, verdict.name, verdict.unmet, verdict.saved);
    const { dispatch, destination } = verdict;
    const { queue } = destination;
    try {
      const data = { lane: queue.name, priority: dispatch.task.priority ?? 'normal' };
      const queued = await createPersist(storeOf(record))(() =>
        ledger.append(id, { type: 'queued', data }, { state: 'queued' }),
      );
      if (!queued) return;
    } finally {
      queue.release(caller.name);
    }
    queue.add(admittedTask(record, dispatch, caller), record.createdAt, false);
  }

  /**
   * Ends a task whose admission failed. Never rejects: the task is durable already. If the end cannot be written, the next
   * start admits the task again.
   */
  async function admitOrFail(record: TaskRecord, caller: Caller): Promise<void> {
    try {
      await admit(record, caller);
    } catch (error) {
      log.error({ ...recordFields(record), err: error }, 'admission failed');
      if (closing.aborted) return;
      await end(record, errorEnding(record.key, profile, FleetError.from(error))).catch((err) =>
        log.error({ ...recordFields(record), err }, 'failed admission could not be written'),
      );
    }
  }

  /** Resumes an unfinished task of a former process. */
  async function resume(record: TaskRecord, caller: Caller): Promise<void> {
    if (record.state === 'submitted') {
      const admission = admitOrFail(record, caller).finally(() => admitting.delete(record.id));
      admitting.set(record.id, admission);
      return admission;
    }
    const dispatch = decodeStored(record, versions);
    if (dispatch instanceof FleetError) {
      log.error({ ...recordFields(record), err: dispatch }, 'unfinished task cannot be resumed');
      await end(record, errorEnding(record.key, profile, dispatch));
      return;
    }
    const { queue, maxResumes } = destinationOf(dispatch);
    const open = record.state === 'input_required' ? openQuestion(ledger, record.id) : undefined;
    if (open) {
      const task = admittedTask(record, dispatch, caller);
      queue.holdTask(task, record.createdAt, expiryOf(task, open, maxInputWaitMs));
      log.info(recordFields(record), 'task still waits for its caller');
      return;
    }
    const interrupted = record.state === 'working';
    const resumes = record.resumes + (interrupted ? 1 : 0);
    if (resumes > maxResumes) {
      const reason = `the task was interrupted ${resumes} times; at most ${maxResumes} resumes are tried`;
      await end(record, failure(record, 'max_resumes', reason, true));
      return;
    }
    await ledger.append(record.id, { type: 'resumed', data: { resumes } }, { state: 'queued', resumes });
    metrics.add('fleet_resumes_total', {});
    log.info({ ...recordFields(record), resumes }, 'task resumed');
    const hasBegun = ledger.loadCheckpoint(record.id) !== undefined;
    queue.add(admittedTask({ ...record, resumes }, dispatch, caller), record.createdAt, hasBegun);
  }

  /** True for a task that began, and is left to the next start: it cancels what a peer may be doing for it. */
  const isReleased = (taskId: string): boolean =>
    ledger.get(taskId)?.state !== 'submitted' && ledger.loadCheckpoint(taskId) !== undefined;

  async function cancel(taskId: string): Promise<void> {
    await decided(taskId);
    const queue = queueOf(taskId);
    const reason = new FleetError('CANCELED', 'the task was canceled by its caller');
    const run = queue?.runOf(taskId) ?? queue?.endHeld(taskId, reason);
    if (run) {
      run.abort(reason);
      await run.finished;
    } else if (!isReleased(taskId)) {
      queue?.withdraw(taskId);
      const record = ledger.get(taskId);
      const message = 'the task was canceled by its caller before it ran';
      if (record && !isTerminal(record.state))
        await end(record, { ...failure(record, 'canceled', message, false), event: 'canceled' });
    }
    const record = ledger.get(taskId);
    if (record?.state === 'canceled') return;
    if (record && !isTerminal(record.state))
      throw new FleetError('SHUTTING_DOWN', `task ${taskId} is kept for the next start: cancel it then`);
    throw new FleetError(
      'TASK_NOT_CANCELABLE',
      `task ${taskId} has already ended (${record?.state ?? 'unknown'})`,
    );
  }

  /** Ends a task whose deadline passed while it waited. */
  async function expire(task: AdmittedTask): Promise<void> {
    await decided(task.id);
    const record = ledger.get(task.id);
    if (!record) return;
    const { deadline = '' } = task.dispatch;
    if (record.resumes === 0 && spentOn(ledger, task.id) === 0) {
      const detail = `the deadline ${deadline} passed while the task was queued`;
      const unmet: Unmet[] = [{ kind: 'deadline', name: deadline, detail, transient: false }];
      return block(record, task.dispatch.task.taskId, unmet, estimateTokens(task.dispatch));
    }
    const message = `the deadline ${deadline} passed before the interrupted task could go on`;
    await end(record, failure(record, 'deadline_exceeded', message, false));
  }

  return {
    /**
     * Accepts a task: see `share` of the shared acceptances for known ones and copies, `acceptNew` for others. Resolves when
     * the task is durable, with what its admission decided. A FleetError means that nothing was stored.
     */
    accept: (arrival: Arrival): Promise<Accepted> =>
      acceptances.share(arrival.task, () => acceptNew(accepting, arrival)),
    resume,
    /** Continues a task whose caller has answered. The answer is durable. */
    answered: (taskId: string): void => queueOf(taskId)?.continueHeld(taskId),
    cancel,
    expire,
    /** Resolves when no admission is in progress. */
    idle: async (): Promise<void> => {
      await Promise.all([acceptances.idle(), ...admitting.values()]);
    },
  };
}

/** A task that waits for its caller expires at its deadline or when its question expires. */
function expiryOf({ deadlineAt, dispatch }: AdmittedTask, open: Question, maxInputWaitMs: number): Expiry {
  const since = open.askedAt;
  const until = answerDueAt(open, maxInputWaitMs);
  if (deadlineAt === undefined || deadlineAt > until)
    return { since, until, reason: unansweredError(maxInputWaitMs) };
  return { since, until: deadlineAt, reason: deadlineExceeded(dispatch.deadline) };
}

/** Decodes a stored dispatch, which a former release may have admitted. */
function decodeStored(record: TaskRecord, spoken: readonly string[]): TaskDispatch | FleetError {
  try {
    const decoded = readDispatch(record.dispatch, spoken);
    if (decoded.kind === 'dispatch') return decoded.dispatch;
    return new FleetError(
      'INTERNAL',
      `the dispatch of task ${record.id} has a version that is no longer supported`,
    );
  } catch (error) {
    return FleetError.from(error);
  }
}

function spentOn(ledger: Ledger, taskId: string): number {
  return ledger.tokens
    .entries(taskId)
    .reduce((sum, entry) => sum + entry.inputTokens + entry.outputTokens, 0);
}
