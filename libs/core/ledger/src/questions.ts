import { FleetError } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import { appendEvent } from './append.ts';
import type { Appended } from './appended.ts';
import { questionRow } from './rows.ts';
import type { Scope, Standing } from './task-writes.ts';
import type { Answer, Question } from './types.ts';

/** The questions of a task by its number, oldest first. */
export function findQuestions(db: Queries, n: number): Question[] {
  return db.all('SELECT * FROM questions WHERE task = ? ORDER BY seq', n).map(questionRow);
}

/** True for a question without an answer that was not withdrawn. The task may have ended. */
export function isOpen({ answer, withdrawnAt }: Question): boolean {
  return answer === undefined && withdrawnAt === undefined;
}

/** The transaction of `Ledger.ask`; `appended` is set for a new question. */
export function askQuestion(
  db: Queries,
  scope: Scope,
  to: Standing,
  { key, text }: { readonly key: string; readonly text: string },
): { readonly question: Question | undefined; readonly appended?: Appended } {
  const questions = findQuestions(db, to.n);
  const known = questions.find((question) => question.key === key);
  if (known && known.withdrawnAt === undefined) return { question: known };
  if (!to.unfinished) return { question: undefined };
  if (questions.some(isOpen))
    throw new FleetError('INTERNAL', `task ${to.taskId} already waits for the answer to another question`);
  const data = { number: known ? questions.length : questions.length + 1, chars: text.length };
  const appended = appendEvent(db, scope, to, { type: 'input_required', data });
  if (!appended) return { question: undefined };
  scope.writes.stores(to, 'questions');
  const { event } = appended;
  db.run(
    'INSERT OR REPLACE INTO questions (task, key, seq, asked_at, question) VALUES (?, ?, ?, ?, ?)',
    to.n,
    key,
    event.seq,
    event.at,
    text,
  );
  return { question: { key, seq: event.seq, askedAt: event.at, text, answer: undefined }, appended };
}

/** The transaction of `Ledger.answer`; `appended` is set for a new answer. */
export function answerQuestion(
  db: Queries,
  scope: Scope,
  to: Standing,
  answer: Answer,
): { readonly question: Question; readonly appended?: Appended } {
  const questions = findQuestions(db, to.n);
  const known = questions.find((question) => question.answer?.messageId === answer.messageId);
  if (known) {
    if (known.answer?.text === answer.text) return { question: known };
    const reason = 'was the id of another answer: give every message its own id';
    const fields = [{ path: 'message.messageId', reason }];
    throw new FleetError('INVALID_PARAMS', `message.messageId ${reason}`, { fields });
  }
  const ended = to.unfinished === undefined;
  const open = questions.find(isOpen);
  if (ended || !open) throw notWaiting(to.taskId, ended, questions.at(-1));
  const data = { number: questions.length, waited_s: Math.round((scope.clock.now() - open.askedAt) / 1000) };
  const appended = appendEvent(db, scope, to, { type: 'answered', data });
  db.run(
    'UPDATE questions SET message_id = ?, message = ?, answer = ? WHERE task = ? AND key = ?',
    answer.messageId,
    JSON.stringify(answer.message),
    answer.text,
    to.n,
    open.key,
  );
  return { question: { ...open, answer }, ...(appended ? { appended } : {}) };
}

/** The transaction of `Ledger.withdraw`; `appended` is set if the question was open. */
export function withdrawQuestion(
  db: Queries,
  scope: Scope,
  to: Standing,
  key: string,
): { readonly question: Question | undefined; readonly appended?: Appended } {
  const question = findQuestions(db, to.n).find((candidate) => candidate.key === key);
  if (!question || !isOpen(question)) return { question };
  const data = { withdrawn: true };
  const appended = appendEvent(db, scope, to, { type: 'queued', data });
  if (!appended) return { question };
  const { at } = appended.event;
  db.run('UPDATE questions SET withdrawn_at = ? WHERE task = ? AND key = ?', at, to.n, key);
  return { question: { ...question, withdrawnAt: at }, appended };
}

function notWaiting(taskId: string, ended: boolean, last: Question | undefined): FleetError {
  if (ended)
    return new FleetError(
      'UNSUPPORTED_OPERATION',
      `task ${taskId} has ended; send the message without its task id`,
    );
  const closed = last?.answer
    ? 'was already answered, and accepts no second answer'
    : 'continues without an answer';
  const reason = last ? closed : 'has asked nothing';
  return new FleetError(
    'UNSUPPORTED_OPERATION',
    `task ${taskId} ${reason}: wait until it asks, or send a new task in its context`,
  );
}
