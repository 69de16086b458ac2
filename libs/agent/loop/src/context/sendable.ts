import type { ModelMessage } from 'ai';
import { fromUser } from '../messages/earlier-messages.ts';
import { abridged } from '../messages/history.ts';
import { isSummaryMessage, taskOf } from './summary.ts';
import { turnStarts } from './turns.ts';

/**
 * The messages for an answer without tools, as much of the conversation as fits: all of it; or all of it with short inputs
 * and outputs; or of these the task, the summary and the newest turns. `fits` is asked in this order, and the last and
 * shortest form is returned whether it fits or not.
 */
export async function abridgedToFit(
  messages: ModelMessage[],
  fits: (messages: ModelMessage[]) => Promise<boolean>,
): Promise<ModelMessage[]> {
  if (await fits(messages)) return messages;
  const short = abridged(messages);
  if (await fits(short)) return short;
  let newest = short;
  for (const start of [...turnStarts(short).slice(1), short.length - 1]) {
    newest = withLead(short, start);
    if (await fits(newest)) break;
  }
  return newest;
}

/** The messages from `start` on, after the task and the summary. */
function withLead(messages: readonly ModelMessage[], start: number): ModelMessage[] {
  const task = taskOf(messages);
  const lead = messages.slice(0, start).filter((message) => message === task || isSummaryMessage(message));
  return [...lead, ...messages.slice(start)];
}

/**
 * The conversation with ever more of the turns before its task left out, oldest first: those of earlier tasks. The last is
 * the task with what came after it.
 */
export function* withoutEarlier(messages: readonly ModelMessage[]): Generator<ModelMessage[]> {
  const task = taskOf(messages);
  const end = task === undefined ? 0 : messages.indexOf(task);
  if (end === 0) return;
  for (const start of turnStarts(messages.slice(0, end)).slice(1)) {
    const lead = messages.slice(0, start).filter(isSummaryMessage);
    yield fromUser([...lead, ...messages.slice(start)]);
  }
  yield messages.slice(end);
}
