import type { ArtifactLimits, Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import {
  type AdmittedTask,
  type Clock,
  type Executor,
  type Log,
  type RunOutcome,
  type Span,
  type Tracing,
  taskFields,
} from '@hermes-fleet/protocol/ports';
import { createBudget, noUsage } from '@hermes-fleet/protocol/tokens';
import type { FleetMetrics } from '@hermes-fleet/service';
import { Abort, type Settled, settle } from './abort.ts';
import { openQuestion, type QuestionWaits } from './ask-caller.ts';
import { decisionOn } from './count-decision.ts';
import {
  type Acceptance,
  createPersist,
  createPersistBehind,
  type Persist,
  persistAfter,
} from './persist.ts';
import { createRunContext, type RunContextOptions, type Slot } from './run-context.ts';
import { errorOutcome, expiredOutcome, runEnding } from './task-result.ts';
import { callAt, deadlineExceeded } from './timers.ts';
import { writeEnding } from './write-ending.ts';

export interface RunnerOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly tracing?: Tracing | undefined;
  readonly defaultBudget: number | undefined;
  readonly countCache: boolean;
  /** The longest time that a question waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  readonly questionWaits: QuestionWaits;
  readonly artifactLimits: ArtifactLimits;
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
  /** Set for a task that this process accepts. One of a former process may have a past. */
  readonly acceptance?: Acceptance;
  /** Set if the task has ended already: the executor only ends the work of a former run. */
  readonly endReason?: FleetError;
}

/**
 * Runs an admitted task within its budget and deadline, and writes its terminal event. A run that the profile's shutdown
 * aborts leaves its task unfinished; the next start resumes it. The executor begins when the task and its `started` event
 * are durable. One that is free of effects, or saves before it has any, need not wait: what it writes is stored after
 * them, and what it does for a task that is not stored is dropped.
 */
export function startRun(options: RunnerOptions, request: RunRequest): Run {
  const aborting = new Abort();
  const stopping = new Abort();
  const fields = fieldsOf(request.task);
  if (request.endReason) aborting.abort(request.endReason);
  const span = startRunSpan(options.tracing, request);
  // Whatever the run calls belongs to its span.
  const traced = span ? { ...request, task: { ...request.task, traceparent: span.traceparent } } : request;
  const finished = runToEnd(options, traced, { aborting, stopping, fields, span }).catch((error) => {
    options.log.error(
      { ...fields, err: error },
      'end of the task could not be written: the next start resumes it',
    );
  });
  if (span) void finished.then(() => span.end());
  return {
    finished,
    abort: (reason) => aborting.abort(reason),
    pause: (reason) => stopping.abort(reason),
  };
}

/** Parts of a run from its beginning. */
interface RunParts {
  readonly aborting: Abort;
  readonly stopping: Abort;
  /** Fields of the log lines. */
  readonly fields: object;
  readonly span?: Span | undefined;
}

async function runToEnd(
  options: RunnerOptions,
  request: RunRequest,
  { aborting, stopping, fields, span }: RunParts,
): Promise<void> {
  const { ledger, clock, metrics, log } = options;
  const { task, executor, acceptance } = request;
  const startedAt = clock.monotonic();
  using _deadline = deadlineTimer(clock, task, aborting);
  const { closing } = options;
  const persistNow = createPersist({ clock, log, fields, signal: () => aborting.signal });
  const hasBegun =
    acceptance === undefined &&
    (ledger.loadCheckpoint(task.id) !== undefined || ledger.questions(task.id).length > 0);
  const isAhead = runsAhead(request);
  let isTrying = isAhead;
  const stored = writeStarted(options, request, { fields, hasBegun, persist: persistNow }, () => {
    isTrying = false;
  });
  if (isAhead) stored.catch(() => undefined);
  else if (!(await stored)) return;

  const persistInRun = isAhead
    ? createPersistBehind(persistNow, { stored, isTrying: () => isTrying, signal: () => aborting.signal })
    : persistNow;
  let budget = acceptance ? undefined : budgetOf(options, request, persistInRun);
  const work = async (): Promise<RunOutcome> => {
    const isNew = !request.endReason && !hasBegun && task.resumes === 0;
    if (isNew && aborting.reason?.code === 'DEADLINE_EXCEEDED') return expiredOutcome(task.dispatch.deadline);
    // The executor also ends what a former run began.
    if (!request.endReason && !hasBegun) aborting.throwIfAborted();
    stopping.throwIfAborted();
    const { questionWaits, maxInputWaitMs, artifactLimits } = options;
    const context = createRunContext({
      task,
      ledger,
      clock,
      metrics,
      slot: request.slot,
      budget: () => {
        budget ??= budgetOf(options, request, persistInRun);
        return budget;
      },
      persist: persistInRun,
      questionWaits,
      maxInputWaitMs,
      artifactLimits,
      aborting,
      stopping,
      closing,
    });
    return executor.run(task, context);
  };
  const attempt = await settle(options, work(), aborting);
  // An attempt for a task that is not stored fails without a trace.
  if ('thrown' in attempt && !(await stored)) return;
  if ('thrown' in attempt && !aborting.reason && stopping.reason && attempt.thrown === stopping.reason) {
    // A task with an open question keeps waiting for its caller.
    if (ledger.get(task.id)?.state === 'input_required') return;
    // Queued, so that the next start does not count it as interrupted.
    await persistNow(() => ledger.append(task.id, { type: 'queued', data: { paused: true } }), closing);
    return;
  }
  const concluded = conclude(attempt, aborting.reason, (error) =>
    log.error({ ...fields, err: error }, 'executor failed'),
  );
  if (!concluded) return;
  const outcome = withOpenQuestion(concluded, aborting.reason, ledger, task.id);
  const { dispatch } = task;
  const { tier } = executor.model;
  // A new task whose executor never asked for the budget has spent nothing.
  const spent = budget?.spent() ?? 0;
  const usage = budget?.usage() ?? noUsage(executor.model.id);
  const ending = runEnding(outcome, {
    taskId: dispatch.task.taskId,
    profile: options.profile,
    spent,
    usage,
    durationMs: Math.round(clock.monotonic() - startedAt),
    canceled: outcome.error?.code === 'canceled' && aborting.reason?.code === 'CANCELED',
  });
  const decision = decisionOn(task, outcome, spent);
  const ended = {
    id: task.id,
    version: dispatch.protocolVersion,
    lineage: dispatch.task,
    tier,
    decision,
    usage,
    limit: limitOf(options, task),
  };
  try {
    const writes = { ledger, versions: options.versions, signal: closing };
    if (!(await writeEnding(writes, ended, ending, persistInRun))) return;
  } catch (error) {
    if (!(await stored)) return;
    throw error;
  }
  if (budget?.limit !== undefined && budget.spent() > budget.limit)
    metrics.add('fleet_budget_overruns_total', { action: 'exceeded' });
  if (decision?.kind === 'accepted') {
    const labels = { model_tier: tier, status: ending.event };
    metrics.observe('fleet_task_duration_seconds', labels, seconds(clock.monotonic() - startedAt));
    const total = seconds(Math.max(0, clock.now() - request.receivedAt));
    metrics.observe('fleet_task_turnaround_seconds', labels, total);
  }
  const { tokensSpent } = ending.result;
  span?.set({ 'hermes.task.state': ending.event, 'hermes.task.tokens_spent': tokensSpent });
  if (ending.event === 'error') span?.end(outcome.error?.code ?? 'unknown');
  log.info({ ...fields, status: ending.event, tokens_spent: tokensSpent }, 'task ended');
}

/** The executor need not wait for its task to be durable. */
const runsAhead = ({ acceptance, executor }: RunRequest): boolean =>
  acceptance !== undefined && (executor.isFreeOfEffects === true || executor.savesBeforeEffects === true);

/** Parts of a run that its start needs. */
interface StartParts extends Pick<RunParts, 'fields'> {
  readonly hasBegun: boolean;
  readonly persist: Persist;
}

/**
 * Writes the `started` event, unless the run only goes on or ends. False if the task is not stored or has ended.
 * `onAttempt` is called after the first attempt of a run that did not wait for it.
 */
async function writeStarted(
  { ledger, clock, log, metrics, closing }: RunnerOptions,
  request: RunRequest,
  { fields, hasBegun, persist }: StartParts,
  onAttempt: () => void,
): Promise<boolean> {
  const { task, executor, acceptance, receivedAt } = request;
  const { resumes } = task;
  const aheadMs = runsAhead(request) ? clock.now() - receivedAt : undefined;
  if (!request.endReason && !request.waitsForCaller) {
    const { id: model, tier } = executor.model;
    const event = { type: 'started', data: { model, model_tier: tier, resumes } } as const;
    const write = () => {
      const attempt = ledger.append(task.id, event, { state: 'working' });
      if (aheadMs !== undefined) attempt.then(onAttempt, onAttempt);
      return attempt;
    };
    const isUndecided = acceptance !== undefined && acceptance.isStored !== true;
    const started = isUndecided
      ? (await persistAfter(persist, acceptance.decided, write, closing))?.value
      : await persist(write, closing);
    if (!started) return false;
    log.info({ ...fields, model, resumes }, 'task started');
  }
  const waited = seconds(aheadMs ?? clock.now() - receivedAt);
  if (resumes === 0 && !hasBegun) metrics.observe('fleet_dispatch_overhead_seconds', {}, waited);
  return true;
}

function deadlineTimer(clock: Clock, task: AdmittedTask, aborting: Abort): Disposable | undefined {
  if (task.deadlineAt === undefined) return undefined;
  const reason = deadlineExceeded(task.dispatch.deadline);
  return callAt(clock, task.deadlineAt, () => aborting.abort(reason));
}

function budgetOf(
  options: RunnerOptions,
  { task, executor, acceptance }: RunRequest,
  persistInRun: RunContextOptions['persist'],
) {
  const { tokens } = options.ledger;
  return createBudget({
    taskId: task.id,
    limit: limitOf(options, task),
    store: {
      entries: (id) => (acceptance ? [] : tokens.entries(id)),
      reserve: (id, estimate) => persistInRun(() => tokens.reserve(id, estimate, executor.model.tier)),
      settle: (id, actual) => persistInRun(() => tokens.settle(id, actual)),
      // As long as the end of the task is tried, which has the same sum: both share a commit.
      add: (id, entry) => persistInRun(() => tokens.add(id, entry), options.closing),
    },
    model: executor.model.id,
    countCache: options.countCache,
  });
}

const limitOf = ({ defaultBudget }: RunnerOptions, { dispatch }: AdmittedTask): number | undefined =>
  dispatch.task.tokenBudget ?? defaultBudget;

const fieldsOf = (task: AdmittedTask) => ({
  ...taskFields(task),
  context_id: task.contextId,
  caller: task.caller.name,
});

const seconds = (ms: number): number => ms / 1000;

/**
 * Begins the span of a run, in the trace of the request that created its task, also after a restart. A span before it
 * covers the wait from the acceptance to the first run. Undefined where traces are off.
 */
function startRunSpan(
  tracing: Tracing | undefined,
  { task, executor, receivedAt }: RunRequest,
): Span | undefined {
  if (tracing === undefined) return undefined;
  const { traceparent: parent, resumes } = task;
  const attributes = { 'hermes.task.id': task.id };
  if (resumes === 0) tracing.start('wait', { parent, attributes, startedAt: receivedAt }).end();
  return tracing.start('run', {
    parent,
    attributes: {
      ...attributes,
      'hermes.task.resumes': resumes,
      'hermes.executor.model': executor.model.id,
      'hermes.executor.tier': executor.model.tier,
    },
  });
}

/**
 * Derives the outcome from the executor's result and the reason of an abort; undefined = left to the next start.
 * `onUnexpected` is called with an error that is not the abort's.
 */
function conclude(
  settled: Settled,
  reason: FleetError | undefined,
  onUnexpected: (error: unknown) => void,
): RunOutcome | undefined {
  const outcome = 'outcome' in settled ? settled.outcome : undefined;
  if (outcome?.status === 'done') return outcome;
  if ('thrown' in settled && (reason === undefined || settled.thrown !== reason))
    onUnexpected(settled.thrown);
  switch (reason?.code) {
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
function withOpenQuestion(
  outcome: RunOutcome,
  reason: FleetError | undefined,
  ledger: Pick<Ledger, 'questions'>,
  taskId: string,
): RunOutcome {
  if (outcome.status === 'done' || reason?.code !== 'DEADLINE_EXCEEDED') return outcome;
  const open = openQuestion(ledger, taskId);
  if (!open) return outcome;
  const { error: _error, unmet: _unmet, ...shown } = outcome;
  const asked = `an answer to what was asked, in the brief of a new task (${reason.message}): ${open.text}`;
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
