import type { ModelMessage } from 'ai';
import { fences } from './fences.ts';

/** Tags in which open models write what they think, where their server does not separate it. */
export const THINKING_TAGS = ['think', 'thinking'] as const;

/** Blanks and further closing tags, which some models write after their thinking. */
const CLOSINGS = /^(?:\s|<\/think(?:ing)?>)+/i;
const TAG = new RegExp(`<(/?)(?:${THINKING_TAGS.join('|')})>`, 'gi');

/**
 * The messages of an answer with the text before a lone `</think>` as reasoning (docs/agent.md#executors): the templates of
 * some models put the opening tag into the prompt. A tag that a code block or backticks quote does not count.
 */
export function withoutLoneThinking(messages: readonly ModelMessage[]): ModelMessage[] {
  let isFirst = true;
  return messages.map((message): ModelMessage => {
    if (message.role !== 'assistant' || !isFirst) return message;
    const { content: given } = message;
    const content = typeof given === 'string' ? [{ type: 'text' as const, text: given }] : given;
    const at = content.findIndex(({ type }) => type === 'text');
    const part = content[at];
    if (part?.type !== 'text') return message;
    isFirst = false;
    const end = loneClosing(part.text);
    if (end === undefined) return message;
    const thought = part.text.slice(0, end.index);
    const text = part.text.slice(end.index + end.length).replace(CLOSINGS, '');
    return {
      ...message,
      content: [
        ...content.slice(0, at),
        ...(thought.trim() === '' ? [] : [{ type: 'reasoning' as const, text: thought }]),
        ...(text === '' ? [] : [{ ...part, text }]),
        ...content.slice(at + 1),
      ],
    };
  });
}

/** The first tag of the text, if it is a closing one, and no word of a sentence. */
function loneClosing(text: string): { readonly index: number; readonly length: number } | undefined {
  const prose = unquoted(text);
  const [tag] = prose.matchAll(TAG);
  if (tag?.[1] !== '/') return undefined;
  const { index, 0: found } = tag;
  const isWord = /[\w,;] $/.test(prose.slice(0, index)) && /^ [a-z]/.test(prose.slice(index + found.length));
  return isWord ? undefined : { index, length: found.length };
}

/** The text with blanks in place of the code that it quotes; all else stays at its place. */
function unquoted(text: string): string {
  const pieces: string[] = [];
  let after = 0;
  for (const { start, end } of fences(text)) {
    pieces.push(text.slice(after, start), ' '.repeat(end - start));
    after = end;
  }
  const prose = [...pieces, text.slice(after)].join('');
  return prose.replace(/(`{1,2})[^`\n]+\1/g, (quote) => ' '.repeat(quote.length));
}
