import type { JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { type Fence, fences } from './fences.ts';

/** The agent's own statement about its work, in the `outcome` block of its last message. */
export interface Claim {
  readonly status: 'done' | 'partial' | 'error';
  readonly remaining: string[];
  readonly nextSteps: string[];
  /** The address of a pull request that it claims to have made. */
  readonly pr?: string;
}

export const DONE: Claim = { status: 'done', remaining: [], nextSteps: [] };

const ClaimWire = z.object({
  status: z.enum(['done', 'partial', 'error']),
  remaining: z.array(z.string()).default([]),
  next_steps: z.array(z.string()).default([]),
  pr: z.string().nullish(),
});

/** The info string of the block; the prompt's section Finishing names it. */
const OUTCOME_FENCE = 'outcome';
const OPENING = /^ {0,3}(?:`{3,}|~{3,})[ \t]*outcome[ \t]*\r?$/gm;

export function renderClaim(claim: Claim): string {
  const wire = { status: claim.status, remaining: claim.remaining, next_steps: claim.nextSteps };
  return `\`\`\`${OUTCOME_FENCE}\n${JSON.stringify(wire)}\n\`\`\``;
}

export interface FinalMessage {
  readonly text: string;
  readonly claim: Claim | 'unreadable';
  /** True when the message has an outcome block; without one it claims to be done. */
  readonly stated: boolean;
}

/** The last outcome block that is not quoted in another one; one after an unclosed block counts too. */
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
  if (block === undefined) return { text: message.trim(), claim: DONE, stated: false };
  const text = message.slice(0, block.start).trim();
  const parsed = ClaimWire.safeParse(parseJson(block.content));
  if (!parsed.success) return { text, claim: 'unreadable', stated: true };
  const { status, remaining, next_steps: nextSteps, pr } = parsed.data;
  return { text, claim: { status, remaining, nextSteps, ...(pr ? { pr } : {}) }, stated: true };
}

/** The JSON value of a reply: the whole text, else its last JSON block; undefined when there is neither. */
export function readJsonReply(text: string): JsonValue | undefined {
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const block = fences(text).findLast(
    ({ info, content }) => /^(json\b|$)/i.test(info) && parseJson(content) !== undefined,
  );
  return parseJson(block?.content ?? '');
}

/** Returns undefined when the text is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
