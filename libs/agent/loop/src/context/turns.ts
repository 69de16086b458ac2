import type { ModelMessage } from 'ai';

/** Counts the tokens of a message, by the estimate. */
export type MessageTokens = (message: ModelMessage) => number;

/** The indexes where turns begin: each answer of the model, with its results and what it was asked then, is one. */
export function turnStarts(messages: readonly ModelMessage[]): number[] {
  return messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
}

/**
 * The index of the first of the newest turns, which stay as they are: at least `turns` of them, and more while they have at
 * most `maxTokens`. The number of messages when there is no turn.
 */
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
