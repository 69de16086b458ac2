import { isOpen, type Ledger, type Question } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import {
  type AdmittedTask,
  type Clock,
  MAX_QUESTION_CHARS,
  MAX_QUESTIONS,
  type RunContext,
} from '@hermes-fleet/protocol/ports';
import type { Persist } from './persist.ts';
import { callAt } from './timers.ts';

export interface AskOptions extends Pick<RunContext, 'signal' | 'stopping'> {
  readonly task: AdmittedTask;
  readonly ledger: Pick<Ledger, 'ask' | 'withdraw' | 'questions' | 'watch'>;
  readonly clock: Clock;
  readonly questionWaits: QuestionWaits;
  /** The longest time that a question waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  /** Aborts the run if its question is not answered in time. */
  readonly abortRun: (reason: FleetError) => void;
  /** Retries a write while the store is unavailable, until the run is aborted: results that cost tokens must not be lost. */
  readonly persist: Persist;
}

/** The question of a task that is neither answered nor withdrawn. */
export function openQuestion(ledger: Pick<Ledger, 'questions'>, taskId: string): Question | undefined {
  return ledger.questions(taskId).find(isOpen);
}

/** When a question expires, ms since the epoch. A restart does not extend the time. */
export function answerDueAt({ askedAt }: Question, maxInputWaitMs: number): number {
  return askedAt + maxInputWaitMs;
}

/** Ends a task whose question has expired. */
export function unansweredError(maxInputWaitMs: number): FleetError {
  const waited = `${Math.round(maxInputWaitMs / 1000)} s`;
  return new FleetError(
    'DEADLINE_EXCEEDED',
    `nobody answered within the ${waited} that a question may wait (fleet.limits.max_input_wait_s)`,
  );
}

/**
 * Resolves with the answer to a question (docs/handshake.md#asking). If the ledger has no answer yet, the question is
 * written to the ledger, and the run waits without a slot. Rejects with the reason of `signal` or `stopping`; the
 * question stays open. `withdrawal` withdraws the question: unless an answer came first, the promise rejects with its
 * reason after the run has a slot again.
 */
export async function askCaller(
  options: AskOptions & Pick<RunContext, 'park'>,
  { key, text }: { readonly key: string; readonly text: string },
  withdrawal?: AbortSignal,
): Promise<string> {
  const { task, ledger, signal, stopping, maxInputWaitMs } = options;
  const over = AbortSignal.any([signal, stopping]);
  over.throwIfAborted();
  withdrawal?.throwIfAborted();
  const before = ledger.questions(task.id);
  if (!before.some((one) => one.key === key)) {
    if (before.length >= MAX_QUESTIONS)
      throw cannotAsk(`a task may ask its caller at most ${MAX_QUESTIONS} times`);
    if (options.questionWaits.full)
      throw cannotAsk('the limit of tasks that wait for their callers is reached');
  }
  const bounded = text.length > MAX_QUESTION_CHARS ? `${text.slice(0, MAX_QUESTION_CHARS)} […]` : text;
  const asked = await options.persist(() => ledger.ask(task.id, { key, text: bounded }));
  over.throwIfAborted();
  if (!asked) throw new FleetError('INTERNAL', `task ${task.id} has ended: it can ask nothing`);
  if (asked.answer) return asked.answer.text;
  const answer = await options.park(async () => {
    using _waiting = options.questionWaits.add(asked.askedAt);
    using _limit = callAt(options.clock, answerDueAt(asked, maxInputWaitMs), () => {
      if (openQuestion(ledger, task.id)?.key === key) options.abortRun(unansweredError(maxInputWaitMs));
    });
    try {
      return await awaitAnswer(options, asked, withdrawal ? AbortSignal.any([over, withdrawal]) : over);
    } catch (error) {
      if (over.aborted || !withdrawal?.aborted) throw error;
      return (await options.persist(() => ledger.withdraw(task.id, key)))?.answer?.text;
    }
  });
  if (answer !== undefined) return answer;
  over.throwIfAborted();
  throw withdrawal?.reason;
}

const cannotAsk = (why: string): FleetError => new FleetError('UNSUPPORTED_OPERATION', why);

async function awaitAnswer(
  { task, ledger }: Pick<AskOptions, 'task' | 'ledger'>,
  { key, seq }: Question,
  over: AbortSignal,
): Promise<string> {
  for await (const event of ledger.watch(task.id, seq, over)) {
    if (event.type !== 'answered') continue;
    const answer = ledger.questions(task.id).find((question) => question.key === key)?.answer;
    if (answer) return answer.text;
  }
  throw new FleetError('INTERNAL', `task ${task.id} ended before its question was answered`);
}

/** Counts the tasks that wait for an answer of their caller. */
export interface QuestionWaits {
  /** The limit is reached. Tasks that waited before a restart are admitted beyond it. */
  readonly full: boolean;
  /** Counts a task until the result is disposed; `since` is the start of its wait, ms since the epoch. */
  add(since: number): Disposable;
  readonly size: number;
  /** The start of the longest wait, ms since the epoch; undefined without any. */
  readonly since: number | undefined;
}

/** `max` is the largest number of waiting tasks. */
export function createQuestionWaits(max: number): QuestionWaits {
  const waiting = new Set<{ readonly since: number }>();
  return {
    get full() {
      return waiting.size >= max;
    },
    get size() {
      return waiting.size;
    },
    get since() {
      return waiting.size === 0 ? undefined : Math.min(...[...waiting].map(({ since }) => since));
    },
    add(since) {
      const entry = { since };
      waiting.add(entry);
      return { [Symbol.dispose]: () => void waiting.delete(entry) };
    },
  };
}
