import { announces } from './announcements.ts';
import { fencesAndText } from './fences.ts';
import { readFinalMessage } from './final-message.ts';
import { holdsCall } from './text-calls.ts';

/** Why a last message is no end: it announces work, holds a tool call as text, or its finish reason promises a call. */
export type UnfinishedEnding = 'intention' | 'call' | 'promise';

/** Characters examined at the end of a message. */
const MAX_CHARS = 20_000;

/**
 * Whether a message without calls is no end (docs/agent.md#endings): quotes are not its own words, except a lone block at
 * its end that calls a tool.
 */
export function unfinishedEnding(
  message: string,
  tools: ReadonlySet<string>,
): Exclude<UnfinishedEnding, 'promise'> | undefined {
  const { text, stated } = readFinalMessage(message);
  const parts = fencesAndText(text);
  const lines = parts.flatMap((part) => (typeof part === 'string' ? [part] : []));
  const last = parts.findLast((part) => typeof part !== 'string' || part.trim() !== '');
  const own = lines.join('\n').slice(-MAX_CHARS).trim();
  const prose = own.replace(/`[^`\n]*`/g, '``');
  const block = last === undefined || typeof last === 'string' ? undefined : last;
  if (holdsCall({ own, prose, block }, tools)) return 'call';
  return !stated && announces(prose) ? 'intention' : undefined;
}
