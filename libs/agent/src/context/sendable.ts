import type { ModelMessage } from 'ai';
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
