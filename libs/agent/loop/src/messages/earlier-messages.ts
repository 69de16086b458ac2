import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { type EarlierConversation, toolFailure } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { type ModelMessage, modelMessageSchema } from 'ai';
import { z } from 'zod';
import { abridged, MESSAGE_TOKENS, pendingCalls, toolMessage } from './history.ts';
import { taskMessage } from './task-message.ts';

interface Continued {
  /** A history that any provider accepts: it begins with a user's message and ends with the assistant's. */
  readonly messages: readonly ModelMessage[];
  readonly isWhole: boolean;
}

const ENDED = 'no result: the task ended before or during this call; check before repeating it';
const NO_ANSWER = '[The task ended here, without an answer.]';
const LEFT_OUT = '[The beginning of this conversation is left out.]';

/**
 * Prepares a conversation for another task, and perhaps another model: no reasoning, no provider options, a result for
 * every call, within `maxTokens`. Undefined for one that this version cannot read.
 */
export async function continuedMessages(
  earlier: EarlierConversation,
  maxTokens: number,
): Promise<Continued | undefined> {
  const parsed = z.array(modelMessageSchema).safeParse(earlier.messages);
  if (!parsed.success) return undefined;
  const messages = closed(parsed.data.flatMap(portable));
  const { isWhole } = earlier;
  if (maxTokens === Number.POSITIVE_INFINITY) return { messages: fromUser(messages), isWhole };
  const first = await firstFitting(messages, maxTokens);
  if (first === 0) return { messages: fromUser(messages), isWhole };
  const short = abridged(messages);
  const start = await firstFitting(short, maxTokens);
  return { messages: fromUser(short.slice(start)), isWhole: isWhole && start === 0 };
}

/** The text, the calls and the results of a message: what every provider understands. */
function portable(message: ModelMessage): ModelMessage[] {
  if (message.role === 'user') {
    const { content } = message;
    const text =
      typeof content === 'string'
        ? content
        : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return text === '' ? [] : [{ role: 'user', content: text }];
  }
  if (message.role === 'assistant') {
    if (typeof message.content === 'string')
      return message.content === '' ? [] : [{ role: 'assistant', content: message.content }];
    const content = message.content.flatMap((part): Exclude<typeof message.content, string> => {
      if (part.type === 'text') return part.text === '' ? [] : [{ type: part.type, text: part.text }];
      if (part.type !== 'tool-call' || part.providerExecuted) return [];
      const { type, toolCallId, toolName, input } = part;
      return [{ type, toolCallId, toolName, input }];
    });
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  }
  if (message.role !== 'tool') return [];
  const content = message.content.flatMap((part): typeof message.content => {
    if (part.type !== 'tool-result') return [];
    const { type, toolCallId, toolName, output } = part;
    return [{ type, toolCallId, toolName, output: portableOutput(output) }];
  });
  return content.length === 0 ? [] : [{ role: 'tool', content }];
}

type Output = Extract<
  Extract<ModelMessage, { role: 'tool' }>['content'][number],
  { output: unknown }
>['output'];

function portableOutput(output: Output): Output {
  if (output.type === 'text' || output.type === 'error-text')
    return { type: output.type, value: output.value };
  if (output.type === 'json' || output.type === 'error-json')
    return { type: output.type, value: output.value };
  return { type: 'text', value: '[This result is left out.]' };
}

/** Ends a conversation that a limit, a cancel or a crash cut off. */
function closed(messages: readonly ModelMessage[]): ModelMessage[] {
  const results = pendingCalls(messages).map((call) => toolMessage(call, toolFailure(ENDED)));
  const all = [...messages, ...results];
  const last = all.at(-1);
  if (last === undefined || last.role === 'assistant') return all;
  return [...all, { role: 'assistant', content: NO_ANSWER }];
}

async function firstFitting(messages: readonly ModelMessage[], maxTokens: number): Promise<number> {
  let left = maxTokens;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    left -= MESSAGE_TOKENS + (await countTokens(JSON.stringify(messages[index])));
    if (left < 0) return index + 1;
  }
  return 0;
}

/** Drops results without their calls from the beginning, and puts a user's message there. */
export function fromUser(messages: readonly ModelMessage[]): ModelMessage[] {
  const start = messages.findIndex(({ role }) => role !== 'tool');
  const rest = start === -1 ? [] : messages.slice(start);
  return rest[0] === undefined || rest[0].role === 'user'
    ? rest
    : [{ role: 'user', content: LEFT_OUT }, ...rest];
}

const MAX_LINES = 5;
const MAX_LINE_CHARS = 200;

/** The message of a task that continues a conversation. `result` says how the task before it ended. */
export function furtherTaskMessage(
  brief: string,
  { isWhole, result }: Omit<EarlierConversation, 'messages'>,
) {
  const notes = [
    'This is a further message of the same caller. Of what is above, files may have changed since, and what was said of ' +
      'tools, budget and deadline is over.',
    ...(isWhole ? [] : ['The beginning of the conversation is left out.']),
    ...endNotes(result),
  ];
  return `${taskMessage(brief)}\n\n${notes.join(' ')}`;
}

function endNotes({ status, error, remaining, next_steps: nextSteps }: JsonObject): string[] {
  const { message } = z.object({ message: z.string() }).catch({ message: '' }).parse(error);
  return [
    ...(status === 'done' || typeof status !== 'string' ? [] : [`The task before ended as ${status}.`]),
    ...(message === '' ? [] : [`Its error: ${line(message)}.`]),
    ...list('It left open', remaining),
    ...list('Its next steps', nextSteps),
  ];
}

function list(label: string, value: JsonValue | undefined): string[] {
  const lines = z.array(z.string()).catch([]).parse(value).slice(0, MAX_LINES).map(line);
  return lines.length === 0 ? [] : [`${label}: ${lines.join('; ')}.`];
}

/** One line, so that it cannot end the brief. */
const line = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MAX_LINE_CHARS);
