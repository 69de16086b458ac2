import type { JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { fences } from '../model/fences.ts';

/** What an agent says about its own work in the `outcome` block that ends its last message. */
export interface Claim {
  readonly status: 'done' | 'partial' | 'error';
  readonly remaining: string[];
  readonly nextSteps: string[];
}

const ClaimWire = z.object({
  status: z.enum(['done', 'partial', 'error']),
  remaining: z.array(z.string()).default([]),
  next_steps: z.array(z.string()).default([]),
});

/** The info word of the block; see the prompt, section Finishing. */
export const OUTCOME_FENCE = 'outcome';
const BLOCK = /(?:^|\n)```outcome[ \t]*\n[\s\S]*$/;

export function renderClaim(claim: Claim): string {
  const wire = { status: claim.status, remaining: claim.remaining, next_steps: claim.nextSteps };
  return `\`\`\`${OUTCOME_FENCE}\n${JSON.stringify(wire)}\n\`\`\``;
}

/** Splits a last message into its text and its claim; without a block it claims to be done. */
export function readFinalMessage(message: string): { text: string; claim: Claim | 'unreadable' } {
  const block = BLOCK.exec(message);
  if (block === null)
    return { text: message.trim(), claim: { status: 'done', remaining: [], nextSteps: [] } };
  const text = message.slice(0, block.index).trim();
  const content = fences(block[0]).find(({ info }) => info === OUTCOME_FENCE)?.content ?? '';
  const parsed = ClaimWire.safeParse(parseJson(content));
  if (!parsed.success) return { text, claim: 'unreadable' };
  const { status, remaining, next_steps: nextSteps } = parsed.data;
  return { text, claim: { status, remaining, nextSteps } };
}

/** The JSON value of a reply: the whole text, else its last fenced block; undefined when there is none. */
export function readJsonReply(text: string): JsonValue | undefined {
  return parseJson(text) ?? parseJson(fences(text).at(-1)?.content ?? '');
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
