import { isOpen, type Ledger, type Question } from '@hermes-fleet/ledger';
import {
  type AdmittedTask,
  type Clock,
  FleetError,
  MAX_QUESTION_CHARS,
  MAX_QUESTIONS,
  type RunContext,
} from '@hermes-fleet/protocol';
import type { Persist } from './persist.ts';
import type { QuestionWaits } from './question-waits.ts';
import { callAt } from './timers.ts';

/** What a run needs to ask its caller. */
export interface AskOptions extends Pick<RunContext, 'signal' | 'stopping'> {
  readonly task: AdmittedTask;
  readonly ledger: Pick<Ledger, 'ask' | 'withdraw' | 'questions' | 'watch'>;
  readonly clock: Clock;
  readonly askers: QuestionWaits;
  /** How long a question waits for its answer, ms. */
  readonly maxInputWaitMs: number;
  /** Ends the run: nobody has answered in time. */
  readonly abortRun: (reason: FleetError) => void;
  /** Tries a write again while the store is away, until the run is told to end: what it paid for must not get lost. */
  readonly persist: Persist;
}

/** The question of a task that has no answer yet. */
export function openQuestion(ledger: Pick<Ledger, 'questions'>, taskId: string): Question | undefined {
  return ledger.questions(taskId).find(isOpen);
}

/** When a question has waited long enough, ms since the epoch. A restart goes on with the same clock. */
export function answerDueAt({ askedAt }: Question, maxInputWaitMs: number): number {
  return askedAt + maxInputWaitMs;
}

/** Why a task ends whose question nobody has answered. */
export function unansweredError(maxInputWaitMs: number): FleetError {
  const waited = `${Math.round(maxInputWaitMs / 1000)} s`;
  return new FleetError(
    'DEADLINE_EXCEEDED',
    `nobody answered within the ${waited} that a question may wait (fleet.limits.max_input_wait_s)`,
  );
}

/**
 * The answer to a question, from the ledger where it is there already; else the question is asked, durably, and waited for
 * without a slot (design 3, Asking). Rejects with the reason of `signal` or `stopping`; the question stays. `withdrawal`
 * takes it back: rejects with its reason, in a slot again, unless an answer came first.
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
      throw cannotAsk(`a task may ask its caller ${MAX_QUESTIONS} times, and did`);
    if (options.askers.full) throw cannotAsk('as many tasks as may wait for their callers already');
  }
  const bounded = text.length > MAX_QUESTION_CHARS ? `${text.slice(0, MAX_QUESTION_CHARS)} […]` : text;
  const asked = await options.persist(() => ledger.ask(task.id, { key, text: bounded }));
  over.throwIfAborted();
  if (!asked) throw new FleetError('INTERNAL', `task ${task.id} has ended: it can ask nothing`);
  if (asked.answer) return asked.answer.text;
  const answer = await options.park(async () => {
    using _waiting = options.askers.enter(asked.askedAt);
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
