import type { JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { type Fence, fences } from './fences.ts';

/** What an agent says about its own work in the `outcome` block that ends its last message. */
export interface Claim {
  readonly status: 'done' | 'partial' | 'error';
  readonly remaining: string[];
  readonly nextSteps: string[];
  /** A pull request that it says it has made. */
  readonly pr?: string;
}

const ClaimWire = z.object({
  status: z.enum(['done', 'partial', 'error']),
  remaining: z.array(z.string()).default([]),
  next_steps: z.array(z.string()).default([]),
  pr: z.string().nullish(),
});

/** The info word of the block; see the prompt, section Finishing. */
export const OUTCOME_FENCE = 'outcome';
const OPENING = /^ {0,3}(?:`{3,}|~{3,})[ \t]*outcome[ \t]*\r?$/gm;

export function renderClaim(claim: Claim): string {
  const wire = { status: claim.status, remaining: claim.remaining, next_steps: claim.nextSteps };
  return `\`\`\`${OUTCOME_FENCE}\n${JSON.stringify(wire)}\n\`\`\``;
}

export interface FinalMessage {
  readonly text: string;
  readonly claim: Claim | 'unreadable';
  /** Whether the claim was made in so many words; without a block a message claims to be done. */
  readonly stated: boolean;
}

/**
 * The outcome block of a last message: the last one that is not quoted in another block. One behind a block that was not
 * closed counts too, so that nobody's word that something is left gets lost.
 */
export function outcomeBlock(message: string): Fence | undefined {
  const own = fences(message).findLast(({ info }) => info === OUTCOME_FENCE);
  if (own !== undefined) return own;
  const start = [...message.matchAll(OPENING)].at(-1)?.index ?? message.length;
  const [block] = fences(message.slice(start));
  return block && { ...block, start };
}

/** Splits a last message into its text and its claim. */
export function readFinalMessage(message: string): FinalMessage {
  const block = outcomeBlock(message);
  if (block === undefined) {
    const claim: Claim = { status: 'done', remaining: [], nextSteps: [] };
    return { text: message.trim(), claim, stated: false };
  }
  const text = message.slice(0, block.start).trim();
  const parsed = ClaimWire.safeParse(parseJson(block.content));
  if (!parsed.success) return { text, claim: 'unreadable', stated: true };
  const { status, remaining, next_steps: nextSteps, pr } = parsed.data;
  return { text, claim: { status, remaining, nextSteps, ...(pr ? { pr } : {}) }, stated: true };
}

/** The JSON value of a reply: the whole text, else its last block of JSON; undefined when there is none. */
export function readJsonReply(text: string): JsonValue | undefined {
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const block = fences(text).findLast(({ info, content }) => {
    return /^(json\b|$)/i.test(info) && parseJson(content) !== undefined;
  });
  return parseJson(block?.content ?? '');
}

/** The JSON value of a text; undefined when it is none. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
