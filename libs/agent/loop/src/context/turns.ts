import type { ModelMessage } from 'ai';
import { fromUser } from '../messages/earlier-messages.ts';
import { abridged } from '../messages/history.ts';
import { isSummaryMessage, taskOf } from './summary.ts';

/** Counts the tokens of a message, by the estimate. */
type MessageTokens = (message: ModelMessage) => number;

/** The indexes where turns begin: each answer of the model, with its results and what it was asked then, is one. */
export function turnStarts(messages: readonly ModelMessage[]): number[] {
  return messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
}

/** Where the newest turns begin that stay: at least `turns`, and more while they have at most `maxTokens`. */
export function tailStart(
  messages: readonly ModelMessage[],
  options: { readonly turns: number; readonly maxTokens: number; readonly tokensOf: MessageTokens },
): number {
  let start = messages.length;
  let tokens = 0;
  for (const [count, at] of turnStarts(messages).toReversed().entries()) {
    for (const message of messages.slice(at, start)) tokens += options.tokensOf(message);
    if (count >= options.turns && tokens > options.maxTokens) break;
    start = at;
  }
  return start;
}

/**
 * As much of the conversation as `fits`: all; all with short inputs and outputs; or of that the task, the summary and the
 * newest turns. The last and shortest form is returned whether it fits or not.
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

/** Leaves out ever more of the turns of earlier tasks, oldest first; the last form begins with the task. */
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
