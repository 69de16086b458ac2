import { type Clock, FleetError } from '@hermes-fleet/protocol';
import type { Queries } from './store/database.ts';
import { questionRow } from './store/rows.ts';
import { appendEvent, endedSeq, notFound } from './tasks.ts';
import type { Answer, Question, TaskEvent } from './types.ts';

/** The questions of a task, the latest last. */
export function findQuestions(db: Queries, taskId: string): Question[] {
  return db.all('SELECT * FROM questions WHERE task_id = ? ORDER BY seq', taskId).map(questionRow);
}

/** The transaction behind Ledger.ask; `event` is that of a question which was not asked before. */
export function askQuestion(
  db: Queries,
  clock: Clock,
  taskId: string,
  { key, text }: { readonly key: string; readonly text: string },
): { readonly question: Question | undefined; readonly event?: TaskEvent } {
  const before = findQuestions(db, taskId);
  const known = before.find((question) => question.key === key);
  if (known) return { question: known };
  if (hasEnded(db, taskId)) return { question: undefined };
  if (before.some(({ answer }) => answer === undefined))
    throw new FleetError('INTERNAL', `task ${taskId} has asked something else already, and waits for that`);
  const data = { number: before.length + 1 };
  const event = appendEvent(db, clock, taskId, { type: 'input_required', data }, undefined);
  if (!event) return { question: undefined };
  db.run(
    'INSERT INTO questions (task_id, key, seq, asked_at, question) VALUES (?, ?, ?, ?, ?)',
    taskId,
    key,
    event.seq,
    event.at,
    text,
  );
  return { question: { key, seq: event.seq, askedAt: event.at, text, answer: undefined }, event };
}

/** The transaction behind Ledger.answer; `event` is that of an answer which is no copy. */
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
    const reason = 'was the id of another answer: give every message an id of its own';
    const fields = [{ path: 'message.messageId', reason }];
    throw new FleetError('INVALID_PARAMS', `message.messageId ${reason}`, { fields });
  }
  const ended = hasEnded(db, taskId);
  const open = questions.find((question) => question.answer === undefined);
  if (ended || !open) throw notWaiting(taskId, ended, questions.length > 0);
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

function hasEnded(db: Queries, taskId: string): boolean {
  const ended = endedSeq(db, taskId);
  if (ended === undefined) throw notFound(taskId);
  return ended !== null;
}

function notWaiting(taskId: string, ended: boolean, hasAsked: boolean): FleetError {
  if (ended)
    return new FleetError(
      'UNSUPPORTED_OPERATION',
      `task ${taskId} has ended; send the message without its task id`,
    );
  const why = hasAsked ? 'was answered already, and takes no second answer' : 'has asked nothing';
  return new FleetError(
    'UNSUPPORTED_OPERATION',
    `task ${taskId} ${why}: wait until it asks, or send a new task in its context`,
  );
}
