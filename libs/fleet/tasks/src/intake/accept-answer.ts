import { isTerminal, type Ledger, type Question, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError, invalidParams, type JsonObject } from '@hermes-fleet/protocol';
import {
  type Accepted,
  attachments,
  type Caller,
  type InboundMessage,
  type Log,
} from '@hermes-fleet/protocol/ports';
import { requireScope } from '@hermes-fleet/service';
import { recordFields } from '../running/lineage.ts';
import type { Dispatcher } from '../scheduling/dispatcher.ts';

/**
 * Of an answer as one JSON string, as an orchestrator passes it on: with its envelope, it stays within the limit of a
 * request at the next profile, which otherwise would refuse what this one accepted.
 */
const MAX_ANSWER_BYTES = 1_048_576 - 16_384;

export interface AnswerOptions {
  readonly ledger: Pick<Ledger, 'get' | 'questions' | 'answer'>;
  readonly dispatcher: Pick<Dispatcher, 'answered'>;
  readonly log: Log;
}

/**
 * Accepts a message to a task as the answer to its open question (docs/handshake.md#asking). The answer is durable when
 * the promise resolves, and copies of the message have no effect. Throws a FleetError, and changes nothing, if the message
 * is not a valid answer.
 */
export async function acceptAnswer(
  { ledger, dispatcher, log }: AnswerOptions,
  taskId: string,
  message: InboundMessage,
  handshake: JsonObject | undefined,
  caller: Caller,
): Promise<Accepted> {
  const task = ownTask(ledger, taskId, caller);
  const { contextId, messageId, text } = message;
  if (contextId !== undefined && contextId !== task.contextId)
    throw new FleetError('CONTEXT_MISMATCH', `task ${taskId} is not part of context ${contextId}`);
  requireScope(caller, 'dispatch');
  const questions = ledger.questions(taskId);
  const isCopy = questions.some(({ answer }) => answer?.messageId === messageId);
  if (!isCopy) refuseUnasked(task, questions.at(-1));
  if (handshake)
    throw invalidParams(
      'message.parts',
      'holds a TASK_DISPATCH: send that without a task id; an answer is text or data',
    );
  const answer = answerText(text, message.raw);
  if (answer.trim() === '')
    throw invalidParams('message.parts', 'has no text and no data: an answer is text or data');
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  if (bytes > MAX_ANSWER_BYTES)
    throw invalidParams(
      'message.parts',
      `has an answer of ${bytes} bytes as one JSON string, at most ${MAX_ANSWER_BYTES}`,
    );
  const { question, isNew } = await ledger.answer(taskId, { messageId, text: answer, message: message.raw });
  const fields = { ...recordFields(task), question: question.seq };
  log.info(fields, isNew ? 'question answered' : 'answer is a duplicate of a known one');
  if (isNew) dispatcher.answered(taskId);
  return { kind: 'task', taskId };
}

/** The text and the data of an answer, each piece of data as JSON on a line of its own. Throws CONTENT_TYPE_NOT_SUPPORTED for files. */
function answerText(text: string, raw: JsonObject): string {
  const data = attachments(raw).map((part) => {
    if (part.kind === 'data') return JSON.stringify(part.data);
    const path = `message.parts[${part.index}]`;
    const reason = 'is a file: an answer is text or data';
    throw new FleetError('CONTENT_TYPE_NOT_SUPPORTED', `${path} ${reason}`, { fields: [{ path, reason }] });
  });
  return data.length === 0 ? text : [...(text === '' ? [] : [text]), ...data].join('\n');
}

/** The caller's own task. Throws TASK_NOT_FOUND for an unknown one, and for another caller's in the same words. */
export function ownTask(ledger: Pick<Ledger, 'get'>, taskId: string, caller: Caller): TaskRecord {
  const task = ledger.get(taskId);
  if (!task || task.caller !== caller.name)
    throw new FleetError('TASK_NOT_FOUND', `task ${taskId} is not known`);
  return task;
}

/** Is checked before the text: a task without an open question refuses every message in the same way. */
function refuseUnasked({ id, contextId, state }: TaskRecord, last: Question | undefined): void {
  if (state === 'input_required') return;
  const asked = last?.answer
    ? 'was already answered, and accepts no second answer'
    : 'continues without an answer';
  const unasked = last ? asked : 'has asked nothing';
  const why = isTerminal(state) ? 'has ended' : unasked;
  throw new FleetError('UNSUPPORTED_OPERATION', `task ${id} ${why}: send a new task in context ${contextId}`);
}
