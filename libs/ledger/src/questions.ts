import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import { questionRow } from './rows.ts';
import { appendEvent, endedSeq, notFound } from './tasks.ts';
import type { Answer, Question, TaskEvent } from './types.ts';

/** The questions of a task, oldest first. */
export function findQuestions(db: Queries, taskId: string): Question[] {
  return db.all('SELECT * FROM questions WHERE task_id = ? ORDER BY seq', taskId).map(questionRow);
}

/** True for a question without an answer that was not withdrawn. The task may have ended. */
export function isOpen({ answer, withdrawnAt }: Question): boolean {
  return answer === undefined && withdrawnAt === undefined;
}

/** The transaction of `Ledger.ask`; `event` is set for a new question. */
export function askQuestion(
  db: Queries,
  clock: Clock,
  taskId: string,
  { key, text }: { readonly key: string; readonly text: string },
): { readonly question: Question | undefined; readonly event?: TaskEvent } {
  const questions = findQuestions(db, taskId);
  const known = questions.find((question) => question.key === key);
  if (known && known.withdrawnAt === undefined) return { question: known };
  if (hasEnded(db, taskId)) return { question: undefined };
  if (questions.some(isOpen))
    throw new FleetError('INTERNAL', `task ${taskId} already waits for the answer to another question`);
  const data = { number: known ? questions.length : questions.length + 1 };
  const event = appendEvent(db, clock, taskId, { type: 'input_required', data }, undefined);
  if (!event) return { question: undefined };
  db.run(
    'INSERT OR REPLACE INTO questions (task_id, key, seq, asked_at, question) VALUES (?, ?, ?, ?, ?)',
    taskId,
    key,
    event.seq,
    event.at,
    text,
  );
  return { question: { key, seq: event.seq, askedAt: event.at, text, answer: undefined }, event };
}

/** The transaction of `Ledger.answer`; `event` is set for a new answer. */
export function answerQuestion(
  db: Queries,
  clock: Clock,
  taskId: string,
  answer: Answer,
): { readonly question: Question; readonly event?: TaskEvent } {
  const questions = findQuestions(db, taskId);
  const known = questions.find((question) => question.answer?.messageId === answer.messageId);
  if (known) {
    if (known.answer?.text === answer.text) return { question: known };
    const reason = 'was the id of another answer: give every message its own id';
    const fields = [{ path: 'message.messageId', reason }];
    throw new FleetError('INVALID_PARAMS', `message.messageId ${reason}`, { fields });
  }
  const ended = hasEnded(db, taskId);
  const open = questions.find(isOpen);
  if (ended || !open) throw notWaiting(taskId, ended, questions.at(-1));
  const data = { number: questions.length, waited_s: Math.round((clock.now() - open.askedAt) / 1000) };
  const event = appendEvent(db, clock, taskId, { type: 'answered', data }, undefined);
  db.run(
    'UPDATE questions SET message_id = ?, message = ?, answer = ? WHERE task_id = ? AND key = ?',
    answer.messageId,
    JSON.stringify(answer.message),
    answer.text,
    taskId,
    open.key,
  );
  return { question: { ...open, answer }, ...(event ? { event } : {}) };
}

/** The transaction of `Ledger.withdraw`; `event` is set if the question was open. */
export function withdrawQuestion(
  db: Queries,
  clock: Clock,
  taskId: string,
  key: string,
): { readonly question: Question | undefined; readonly event?: TaskEvent } {
  const question = findQuestions(db, taskId).find((candidate) => candidate.key === key);
  if (!question || !isOpen(question)) return { question };
  const event = appendEvent(db, clock, taskId, { type: 'queued', data: { withdrawn: true } }, undefined);
  if (!event) return { question };
  db.run('UPDATE questions SET withdrawn_at = ? WHERE task_id = ? AND key = ?', event.at, taskId, key);
  return { question: { ...question, withdrawnAt: event.at }, event };
}

function hasEnded(db: Queries, taskId: string): boolean {
  const ended = endedSeq(db, taskId);
  if (ended === undefined) throw notFound(taskId);
  return ended !== null;
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
