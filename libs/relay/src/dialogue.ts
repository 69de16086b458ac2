import type { PeerTask } from '@hermes-fleet/a2a';
import { FleetError, MAX_QUESTION_CHARS, type TaskResult } from '@hermes-fleet/protocol';
import { emptyResult } from './remote-result.ts';
import type { Delegation } from './state.ts';

/** The states in which a peer's task waits for its caller. */
const WAITING = new Set(['input_required', 'auth_required']);

export const isWaiting = ({ state }: Pick<PeerTask, 'state'>): boolean => WAITING.has(state);

/** What a task that waits for its caller asks. */
export function questionIn({ statusText, text }: Pick<PeerTask, 'statusText' | 'text'>): string {
  const question = (statusText || text).trim() || 'It asks, and does not say what.';
  return question.slice(0, MAX_QUESTION_CHARS);
}

/** An answer on its way to a peer. */
export interface PeerAnswer {
  /** The same however often it is sent. */
  readonly messageId: string;
  readonly text: string;
  /** The peer's status that it answers, where that has an id. */
  readonly statusId?: string | undefined;
}

/**
 * What a peer asks of us, asked of our own caller; and what it is told (design 3, Asking). Every step is durable, so that
 * no question is asked twice, and no answer given as two.
 */
export interface Dialogue {
  /**
   * The caller's answer, from now on one that may be at the peer; undefined where the caller can't be asked any more.
   * Rejects with the reason of `over` once the question was taken back.
   */
  ask(task: PeerTask, over: AbortSignal): Promise<PeerAnswer | undefined>;
  /** The peer's task as it asked what an earlier process saw no answer to. */
  pending(): PeerTask | undefined;
  /** An answer of which it is not known whether an earlier process delivered it. */
  undelivered(): Promise<PeerAnswer | undefined>;
  /** The peer has the last answer. */
  delivered(): Promise<void>;
}

export function createDialogue(o: {
  /** As it was saved last. */
  delegation(): Pick<Delegation, 'messageId' | 'contextId' | 'remoteTaskId' | 'answers' | 'asked'>;
  /** Durable when it resolves. */
  note(change: Pick<Delegation, 'answers' | 'asked'>): Promise<void>;
  ask(question: string, key: string, over?: AbortSignal): Promise<string>;
}): Dialogue {
  const count = (): number => o.delegation().answers?.count ?? 0;
  const keyOf = (nth: number): string => `${o.delegation().messageId}:question-${nth}`;
  const answerOf = (nth: number, text: string, statusId: string | undefined): PeerAnswer => ({
    messageId: `${o.delegation().messageId}:answer-${nth}`,
    text,
    statusId,
  });
  return {
    async ask(task, over) {
      const status = task.statusId === undefined ? {} : { statusId: task.statusId };
      const question = questionIn(task);
      const nth = count() + 1;
      // Noted before it is asked: who starts again knows that the caller is asked already, even where the peer is away.
      if (!o.delegation().asked) await o.note({ asked: { text: question, ...status } });
      try {
        const text = await o.ask(question, keyOf(nth), over);
        await o.note({ answers: { count: nth, delivered: false, ...status }, asked: undefined });
        return answerOf(nth, text, task.statusId);
      } catch (error) {
        if (over.aborted && error === over.reason)
          await o.note({ answers: { count: nth, delivered: true }, asked: undefined });
        if (error instanceof FleetError && error.code === 'UNSUPPORTED_OPERATION') return undefined;
        throw error;
      }
    },
    pending() {
      const { asked, remoteTaskId: id, contextId } = o.delegation();
      if (!asked || id === undefined) return undefined;
      const standing = { id, contextId, state: 'input_required', terminal: false, text: '' };
      return {
        ...standing,
        statusText: asked.text,
        statusId: asked.statusId,
        data: [],
        artifacts: [],
        metadata: {},
      };
    },
    async undelivered() {
      const { answers } = o.delegation();
      if (answers?.delivered !== false) return undefined;
      // It is answered: the same key asks nobody again.
      return answerOf(answers.count, await o.ask('', keyOf(answers.count)), answers.statusId);
    },
    delivered: () => o.note({ answers: { ...o.delegation().answers, count: count(), delivered: true } }),
  };
}

/** What a task comes to whose question nobody can answer; `canceled` is what it came to at the peer. */
export function unansweredResult(
  o: { readonly taskId: string; readonly endpoint: { readonly name: string } },
  task: Pick<PeerTask, 'statusText' | 'text'>,
  canceled: TaskResult | undefined,
  why = '',
): TaskResult {
  return {
    ...emptyResult(o.taskId),
    status: 'partial',
    tokensSpent: canceled?.tokensSpent ?? 0,
    remaining: [
      `answer what ${o.endpoint.name} asked, in the brief of a new task${why}: ${questionIn(task)}`,
    ],
    text: task.text,
  };
}
