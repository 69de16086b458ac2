import { createHash } from 'node:crypto';
import { countTokens } from '@hermes-fleet/tokens';
import { z } from 'zod';

/** What a call of the Messages API sends, as far as it costs tokens. */
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
  /** All that is sent. In tokens. */
  readonly total: number;
  /** What of it the provider will bill as input, as far as is known. */
  readonly billed: number;
}

export interface InputEstimator {
  estimate(body: MessagesBody): Promise<InputEstimate>;
  /** What the provider said of it: the part that it has in its cache from now on. */
  learn(body: MessagesBody, estimate: InputEstimate, cached: number): void;
}

const FRAME_TOKENS = 64;
const MESSAGE_TOKENS = 8;
/** An image or a document, which are not told by the length of their data. */
const ATTACHMENT_TOKENS = 1600;
const MAX_KNOWN = 20_000;
const MAX_PREFIXES = 16;

/**
 * Estimates what calls of Claude Code send; each message is counted once. Most of a conversation comes from the
 * provider's cache and is not spent, so a call is expected to be billed for what the call before it did not leave there.
 */
export function createInputEstimator(): InputEstimator {
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
    async estimate(body) {
      let total = FRAME_TOKENS + (await count([body.system, body.tools]));
      for (const message of body.messages) total += MESSAGE_TOKENS + (await count(message));
      return { total, billed: Math.max(FRAME_TOKENS, total - (cachedOf.get(prefixOf(body)) ?? 0)) };
    },
    learn(body, { total }, cached) {
      const prefix = prefixOf(body);
      cachedOf.delete(prefix);
      cachedOf.set(prefix, Math.min(cached, total));
      const [oldest] = cachedOf.keys();
      if (cachedOf.size > MAX_PREFIXES && oldest !== undefined) cachedOf.delete(oldest);
    },
  };
}

/** What conversations share that share a cache: the system prompt, the tools, and how they began. */
const prefixOf = ({ system, tools, messages: [first] }: MessagesBody): string =>
  createHash('sha256')
    .update(plain([system, tools, first]))
    .digest('base64');

/** As JSON, without the marks that say where the cache ends: they move from call to call. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner)) ?? '';

const Source = z.looseObject({ type: z.literal('base64'), data: z.string() });

function withoutAttachments(value: unknown): { text: string; attachments: number } {
  let attachments = 0;
  const text = JSON.stringify(value, (key, inner) => {
    if (key === 'cache_control') return undefined;
    if (key !== 'source' || !Source.safeParse(inner).success) return inner;
    attachments += 1;
    return undefined;
  });
  return { text: text ?? '', attachments };
}
