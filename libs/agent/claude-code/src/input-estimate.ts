import { createHash } from 'node:crypto';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { z } from 'zod';

/** The part of a Messages API request that costs tokens. */
export const MessagesBody = z.looseObject({
  model: z.string(),
  max_tokens: z.int().positive(),
  stream: z.boolean().optional(),
  system: z.unknown().optional(),
  tools: z.array(z.unknown()).optional(),
  messages: z.array(z.unknown()).max(100_000),
});
export type MessagesBody = z.output<typeof MessagesBody>;

export interface InputEstimate {
  /** Everything that is sent. In tokens. */
  readonly total: number;
  /** The part that the provider is expected to bill as input: most of a conversation comes from its cache. */
  readonly billed: number;
}

const FRAME_TOKENS = 64;
const MESSAGE_TOKENS = 8;
/** For an image or a document: the length of its data does not determine its tokens. */
const ATTACHMENT_TOKENS = 1600;
const MAX_KNOWN = 20_000;
const MAX_PREFIXES = 16;

/** Estimates the input of Claude Code's calls. Each message is counted once. */
export function createInputEstimator() {
  let known = new Map<string, number>();
  const cachedOf = new Map<string, number>();

  async function count(value: unknown): Promise<number> {
    const { text, attachments } = withoutAttachments(value);
    const key = createHash('sha256').update(text).digest('base64');
    const tokens = known.get(key) ?? (await countTokens(text));
    if (known.size >= MAX_KNOWN) known = new Map();
    known.set(key, tokens);
    return tokens + attachments * ATTACHMENT_TOKENS;
  }

  return {
    async estimate(body: MessagesBody): Promise<InputEstimate> {
      let total = FRAME_TOKENS + (await count([body.system, body.tools]));
      for (const message of body.messages) total += MESSAGE_TOKENS + (await count(message));
      return { total, billed: Math.max(FRAME_TOKENS, total - (cachedOf.get(prefixOf(body)) ?? 0)) };
    },
    /** Records how many tokens of a request the provider now has in its cache. */
    recordCached(body: MessagesBody, { total }: InputEstimate, cached: number): void {
      const prefix = prefixOf(body);
      cachedOf.delete(prefix);
      cachedOf.set(prefix, Math.min(cached, total));
      const [oldest] = cachedOf.keys();
      if (cachedOf.size > MAX_PREFIXES && oldest !== undefined) cachedOf.delete(oldest);
    },
  };
}

/** Identifies the cache prefix of a conversation: the system prompt, the tools and the first message. */
const prefixOf = ({ system, tools, messages: [first] }: MessagesBody): string =>
  createHash('sha256')
    .update(withoutCacheMarks([system, tools, first]))
    .digest('base64');

/** JSON without the cache breakpoints, which move from call to call. */
const withoutCacheMarks = (value: unknown): string =>
  JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner)) ?? '';

const Base64Source = z.looseObject({ type: z.literal('base64'), data: z.string() });

function withoutAttachments(value: unknown): { text: string; attachments: number } {
  let attachments = 0;
  const text = JSON.stringify(value, (key, inner) => {
    if (key === 'cache_control') return undefined;
    if (key !== 'source' || !Base64Source.safeParse(inner).success) return inner;
    attachments += 1;
    return undefined;
  });
  return { text: text ?? '', attachments };
}

/** Calls with tools belong to the conversation; calls without tools come from helpers, e.g. for a summary. */
export const isConversation = ({ tools = [] }: MessagesBody): boolean => tools.length > 0;
