import type { PeerTask } from '@hermes-fleet/a2a';
import { FleetError, isAsking } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import { MAX_QUESTION_CHARS } from '@hermes-fleet/protocol/ports';
import type { Delegation } from './delegation.ts';
import { emptyResult } from './remote-result.ts';

export const isWaitingForCaller = ({ state }: Pick<PeerTask, 'state'>): boolean => isAsking(state);

export function questionIn({ statusText, text }: Pick<PeerTask, 'statusText' | 'text'>): string {
  const question = (statusText || text).trim() || 'It asks, and does not say what.';
  return question.slice(0, MAX_QUESTION_CHARS);
}

/** The caller's answer, as a message to the peer. */
export interface AnswerMessage {
  /** Every resend has the same ID. */
  readonly messageId: string;
  readonly text: string;
  /** The peer's status that this answers, if that status has an ID. */
  readonly statusId?: string | undefined;
}

export type QuestionExchange = ReturnType<typeof createQuestionExchange>;

/**
 * Passes a peer's questions to the caller, and the caller's answers to the peer (docs/handshake.md#asking). Every step is
 * durable: no question is asked twice, and no answer counts as two.
 */
export function createQuestionExchange(options: {
  /** As last saved. */
  delegation(): Pick<Delegation, 'messageId' | 'contextId' | 'remoteTaskId' | 'answers' | 'asked'>;
  /** Durable when it resolves. */
  save(change: Pick<Delegation, 'answers' | 'asked'>): Promise<void>;
  ask(question: string, key: string, withdrawn?: AbortSignal): Promise<string>;
}) {
  const { delegation, save } = options;
  const count = (): number => delegation().answers?.count ?? 0;
  const keyOf = (nth: number): string => `${delegation().messageId}:question-${nth}`;
  const answerOf = (nth: number, text: string, statusId: string | undefined): AnswerMessage => ({
    messageId: `${delegation().messageId}:answer-${nth}`,
    text,
    statusId,
  });
  return {
    /**
     * Asks the caller. From the moment that this resolves, the answer may be at the peer. Resolves with undefined when the
     * caller cannot be asked; rejects with the reason of `withdrawn` when the question was withdrawn.
     */
    async ask(task: PeerTask, withdrawn: AbortSignal): Promise<AnswerMessage | undefined> {
      const status = task.statusId === undefined ? {} : { statusId: task.statusId };
      const question = questionIn(task);
      const nth = count() + 1;
      // Saved before the caller is asked: after a restart the question is known even while the peer is away.
      if (!delegation().asked) await save({ asked: { text: question, ...status } });
      try {
        const text = await options.ask(question, keyOf(nth), withdrawn);
        await save({ answers: { count: nth, delivered: false, ...status }, asked: undefined });
        return answerOf(nth, text, task.statusId);
      } catch (error) {
        if (withdrawn.aborted && error === withdrawn.reason)
          await save({ answers: { count: nth, delivered: true }, asked: undefined });
        if (error instanceof FleetError && error.code === 'UNSUPPORTED_OPERATION') return undefined;
        throw error;
      }
    },
    /** The peer's task with a question that an earlier process left open. */
    pendingQuestion(): PeerTask | undefined {
      const { asked, remoteTaskId: id, contextId } = delegation();
      if (!asked || id === undefined) return undefined;
      return {
        id,
        contextId,
        state: 'input_required',
        terminal: false,
        text: '',
        statusText: asked.text,
        statusId: asked.statusId,
        data: [],
        artifacts: [],
        metadata: {},
      };
    },
    /** An answer that an earlier process may not have delivered. */
    async undeliveredAnswer(): Promise<AnswerMessage | undefined> {
      const { answers } = delegation();
      if (answers?.delivered !== false) return undefined;
      // The question is answered already: with the same key, this returns the answer and asks nobody.
      return answerOf(answers.count, await options.ask('', keyOf(answers.count)), answers.statusId);
    },
    /** Records that the peer has the last answer. */
    markDelivered: (): Promise<void> =>
      save({ answers: { ...delegation().answers, count: count(), delivered: true } }),
  };
}

/** The result of a task whose question nobody can answer. `canceled` is its result after cancellation at the peer. */
export function unansweredResult(
  { taskId, endpoint }: { readonly taskId: string; readonly endpoint: { readonly name: string } },
  task: Pick<PeerTask, 'statusText' | 'text'>,
  canceled: TaskResult | undefined,
  why = '',
): TaskResult {
  return {
    ...emptyResult(taskId),
    status: 'partial',
    tokensSpent: canceled?.tokensSpent ?? 0,
    remaining: [`answer what ${endpoint.name} asked, in the brief of a new task${why}: ${questionIn(task)}`],
    text: task.text,
  };
}
