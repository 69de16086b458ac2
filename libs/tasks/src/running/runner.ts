import type { Ledger, Question } from '@hermes-fleet/ledger';
import {
  type AdmittedTask,
  type Clock,
  type Executor,
  FleetError,
  type Log,
  logWith,
  type RunOutcome,
  taskFields,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { createBudget } from '@hermes-fleet/tokens';
import { openQuestion } from './ask-caller.ts';
import { decisionOn } from './count-decision.ts';
import { createPersist, persist } from './persist.ts';
import type { QuestionWaits } from './question-waits.ts';
import { createRunContext, type RunContextOptions, type Slot } from './run-context.ts';
import { errorOutcome, expiredOutcome, runEnding } from './task-result.ts';
import { callAt, deadlineExceeded } from './timers.ts';
import { writeEnding } from './write-ending.ts';

/** The time that an executor has to end after an abort. */
const ABORT_GRACE_MS = 10_000;

export interface RunnerOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly defaultBudget: number | undefined;
  readonly countCache: boolean;
  /** The longest time that a question waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  readonly questionWaits: QuestionWaits;
  /** Aborts when the process must end: failed writes are not retried after that. */
  readonly closing: AbortSignal;
}

export interface Run {
  /** Resolves when the task has ended or is left to the next start. Never rejects. */
  readonly finished: Promise<void>;
  /** Aborts the executor. The first reason counts. */
  abort(reason: FleetError): void;
  /** Stops the executor at its next checkpoint, from which the next start continues. */
  pause(reason: FleetError): void;
}

export interface RunRequest {
  readonly task: AdmittedTask;
  readonly executor: Executor;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly slot: Slot;
  /** The task waits for its caller since a former process: it has started, and has no slot until it continues. */
  readonly waitsForCaller?: boolean;
  /** Set if the task has ended already: the executor only ends the work of a former run. */
  readonly endReason?: FleetError;
}

/**
 * Runs an admitted task within its budget and deadline, and writes its terminal event. A run that the profile's shutdown
 * aborts leaves its task unfinished; the next start resumes it.
 */
export function startRun(options: RunnerOptions, request: RunRequest): Run {
  const { task } = request;
  const controller = new AbortController();
  const pausing = new AbortController();
  if (request.endReason) controller.abort(request.endReason);
  const finished = runToEnd(options, request, controller, pausing.signal).catch((error) => {
    options.log.error(
      { ...fieldsOf(task), err: error },
      'end of the task could not be written: the next start resumes it',
    );
  });
  return {
    finished,
    abort: (reason) => controller.abort(reason),
    pause: (reason) => pausing.abort(reason),
  };
}

async function runToEnd(
  options: RunnerOptions,
  request: RunRequest,
  controller: AbortController,
  stopping: AbortSignal,
): Promise<void> {
  const { task, executor, slot } = request;
  const { signal } = controller;
  const startedAt = options.clock.monotonic();
  using _deadline = deadlineTimer(options.clock, task, controller);
  const log = logWith(options.log, fieldsOf(task));
  const store = { ...options, log, signal: options.closing };
  if (!request.endReason && !request.waitsForCaller) {
    const data = { model: executor.model.id, model_tier: executor.model.tier, resumes: task.resumes };
    const started = await persist(store, () =>
      options.ledger.append(task.id, { type: 'started', data }, { state: 'working' }),
    );
    if (!started) return;
    log.info({ model: executor.model.id, resumes: task.resumes }, 'task started');
  }
  const hasBegun =
    options.ledger.loadCheckpoint(task.id) !== undefined || options.ledger.questions(task.id).length > 0;
  if (task.resumes === 0 && !hasBegun)
    options.metrics.dispatchOverhead(seconds(options.clock.now() - request.receivedAt));

  const persistInRun = createPersist({ ...store, signal });
  const budget = budgetOf(options, request, persistInRun);
  const work = async (): Promise<RunOutcome> => {
    const isNew = !request.endReason && !hasBegun && task.resumes === 0;
    if (isNew && reasonOf(signal) === 'DEADLINE_EXCEEDED') return expiredOutcome(task.dispatch.deadline);
    // The executor also ends what a former run began.
    if (!request.endReason && !hasBegun) signal.throwIfAborted();
    stopping.throwIfAborted();
    const { ledger, clock, metrics, questionWaits, maxInputWaitMs } = options;
    const abortRun = (reason: FleetError): void => controller.abort(reason);
    const parts = { task, ledger, clock, metrics, slot, signal, stopping, budget, persist: persistInRun };
    return executor.run(task, createRunContext({ ...parts, questionWaits, maxInputWaitMs, abortRun }));
  };
  const attempt = await settle(options, work(), signal);
  if ('thrown' in attempt && stopping.aborted && !signal.aborted && attempt.thrown === stopping.reason) {
    // A task with an open question keeps waiting for its caller.
    if (options.ledger.get(task.id)?.state === 'input_required') return;
    // Queued, so that the next start does not count it as interrupted.
    await persist(store, () => options.ledger.append(task.id, { type: 'queued', data: { paused: true } }));
    return;
  }
  const concluded = conclude(attempt, signal, (error) => log.error({ err: error }, 'executor failed'));
  if (!concluded) return;
  const outcome = withOpenQuestion(concluded, signal, openQuestion(options.ledger, task.id));
  const ending = runEnding(outcome, {
    taskId: task.dispatch.task.taskId,
    profile: options.profile,
    budget,
    durationMs: Math.round(options.clock.monotonic() - startedAt),
    canceled: outcome.error?.code === 'canceled' && reasonOf(signal) === 'CANCELED',
  });
  const { dispatch } = task;
  const { tier } = executor.model;
  const decision = decisionOn(task, outcome, budget.spent());
  const ended = { id: task.id, version: dispatch.protocolVersion, lineage: dispatch.task, tier, decision };
  if (!(await writeEnding({ ...store, persistInRun }, ended, ending))) return;
  if (budget.limit !== undefined && budget.spent() > budget.limit) options.metrics.budgetOverrun('exceeded');
  if (decision?.kind === 'accepted')
    options.metrics.taskTook(tier, ending.event, {
      run: seconds(options.clock.monotonic() - startedAt),
      total: seconds(Math.max(0, options.clock.now() - request.receivedAt)),
    });
  log.info({ status: ending.event, tokens_spent: ending.result.tokensSpent }, 'task ended');
}

type Settled = { readonly outcome: RunOutcome } | { readonly thrown: unknown };

/** Awaits the executor. If it does not end within the grace period after an abort, the result is an INTERNAL error. */
async function settle(
  options: Pick<RunnerOptions, 'clock' | 'closing'>,
  run: Promise<RunOutcome>,
  signal: AbortSignal,
): Promise<Settled> {
  const over = new AbortController();
  const grace = abortOf(signal, over.signal)
    .then(() => options.clock.sleep(ABORT_GRACE_MS, AbortSignal.any([over.signal, options.closing])))
    .then(
      () => ({ thrown: new FleetError('INTERNAL', 'the executor did not stop when it was aborted') }),
      () => ({ thrown: signal.reason }),
    );
  const settled = run.then(
    (outcome) => ({ outcome }),
    (thrown: unknown) => ({ thrown }),
  );
  try {
    return await Promise.race([settled, grace]);
  } finally {
    over.abort();
  }
}

function abortOf(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    over.addEventListener('abort', () => reject(over.reason), { once: true });
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}

/** Derives the outcome from the executor's result and the reason of an abort; undefined = left to the next start. */
function conclude(
  settled: Settled,
  signal: AbortSignal,
  onUnexpected: (error: unknown) => void,
): RunOutcome | undefined {
  const outcome = 'outcome' in settled ? settled.outcome : undefined;
  if (outcome?.status === 'done') return outcome;
  if ('thrown' in settled && settled.thrown !== signal.reason) onUnexpected(settled.thrown);
  switch (reasonOf(signal)) {
    case 'SHUTTING_DOWN':
      return undefined;
    case 'CANCELED':
      return endedBy('canceled', 'the task was canceled by its caller', false, outcome);
    case 'DEADLINE_EXCEEDED':
      // Blocked: the task only waited, and no work began.
      if (outcome?.status === 'partial' || outcome?.status === 'blocked') return outcome;
      return endedBy('deadline_exceeded', 'the deadline passed while the task was running', false, outcome);
    default:
  }
  if (outcome) return outcome;
  const error = FleetError.from('thrown' in settled ? settled.thrown : undefined);
  return errorOutcome(error.code, error.message, error.retryable);
}

/** A task that expires with an open question is partial: an answer to the question remains to be given. */
function withOpenQuestion(outcome: RunOutcome, signal: AbortSignal, open: Question | undefined): RunOutcome {
  if (!open || outcome.status === 'done' || reasonOf(signal) !== 'DEADLINE_EXCEEDED') return outcome;
  const { error: _error, unmet: _unmet, ...shown } = outcome;
  const why = FleetError.from(signal.reason).message;
  const asked = `an answer to what was asked, in the brief of a new task (${why}): ${open.text}`;
  const remaining = (outcome.remaining ?? []).filter((each) => !each.includes(open.text));
  return { ...shown, status: 'partial', blockedReason: null, remaining: [asked, ...remaining] };
}

/** An error outcome that keeps the artifacts of the executor. */
function endedBy(
  code: string,
  message: string,
  retryable: boolean,
  shown: RunOutcome | undefined,
): RunOutcome {
  return {
    ...shown,
    ...errorOutcome(code, message, retryable),
    ...(shown && { artifacts: shown.artifacts }),
  };
}

function reasonOf(signal: AbortSignal): FleetError['code'] | undefined {
  return signal.aborted && signal.reason instanceof FleetError ? signal.reason.code : undefined;
}

function deadlineTimer(
  clock: Clock,
  task: AdmittedTask,
  controller: AbortController,
): Disposable | undefined {
  if (task.deadlineAt === undefined) return undefined;
  const reason = deadlineExceeded(task.dispatch.deadline);
  return callAt(clock, task.deadlineAt, () => controller.abort(reason));
}

function budgetOf(
  options: RunnerOptions,
  { task, executor }: RunRequest,
  persistInRun: RunContextOptions['persist'],
) {
  const { tokens } = options.ledger;
  return createBudget({
    taskId: task.id,
    limit: task.dispatch.task.tokenBudget ?? options.defaultBudget,
    store: {
      entries: (id) => tokens.entries(id),
      reserve: (id, estimate) => persistInRun(() => tokens.reserve(id, estimate, executor.model.tier)),
      settle: (id, actual) => persistInRun(() => tokens.settle(id, actual)),
      // As long as the end of the task is tried, which has the same sum: both share a commit.
      add: (id, entry) => persistInRun(() => tokens.add(id, entry), options.closing),
    },
    model: executor.model.id,
    countCache: options.countCache,
  });
}

const fieldsOf = (task: AdmittedTask) => ({
  ...taskFields(task),
  context_id: task.contextId,
  caller: task.caller.name,
});

const seconds = (ms: number): number => ms / 1000;
