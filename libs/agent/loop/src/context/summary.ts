import type { ModelMessage } from 'ai';
import { isWrite } from '../guards/verification.ts';
import { followUpKind, isSummary, summaryMessage } from '../messages/follow-up-prompts.ts';
import { readTask } from '../messages/task-message.ts';
import type { JournalEntry } from '../run/run-state.ts';

/** A follow-up prompt up to this length stays word for word beside the summary. */
const MAX_PROMPT_CHARS = 4000;

/**
 * Replaces the messages before `end` by the summary; the task message and the last follow-up prompt stay word for word. The
 * files written come from the journal, not from the model.
 */
export function summarized(
  messages: readonly ModelMessage[],
  end: number,
  summary: string,
  journal: readonly JournalEntry[],
): ModelMessage[] {
  const head = messages.slice(0, end);
  const task = messages.slice(end).some(isTask) ? undefined : taskOf(head);
  const asked = task && head.findLast(({ role }) => role === 'user');
  const prompt = asked === undefined || asked === task ? undefined : promptOf(asked);
  const wrote = [...new Set(journal.filter(isWrite).map(({ detail = '' }) => detail))];
  const content = summaryMessage({ summary, wrote, prompt });
  return [...(task === undefined ? [] : [task]), { role: 'user', content }, ...messages.slice(end)];
}

/** The message with the task, the last one where a conversation goes on; else the first message. */
export const taskOf = (messages: readonly ModelMessage[]): ModelMessage | undefined =>
  messages.findLast(isTask) ?? messages[0];

function isTask(message: ModelMessage): boolean {
  const text = textOf(message);
  return message.role === 'user' && followUpKind(text) === undefined && readTask(text) !== '';
}

/** True for the message that takes the place of summarized ones. */
export const isSummaryMessage = (message: ModelMessage): boolean =>
  message.role === 'user' && isSummary(textOf(message));

const textOf = ({ content }: ModelMessage): string => (typeof content === 'string' ? content : '');

/** The text of a follow-up prompt of the loop. */
function promptOf(message: ModelMessage): string | undefined {
  const text = textOf(message);
  const isPrompt = followUpKind(text) !== undefined && !isSummary(text);
  return isPrompt && text.length <= MAX_PROMPT_CHARS ? text : undefined;
}

/** Joins each summary to the message before it: some models accept no two messages of the user in a row. */
export function withJoinedSummary(messages: readonly ModelMessage[]): ModelMessage[] {
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    const before = joined.at(-1);
    if (before?.role === 'user' && isSummaryMessage(message))
      joined[joined.length - 1] = { role: 'user', content: `${textOf(before)}\n\n${textOf(message)}` };
    else joined.push(message);
  }
  return joined;
}
