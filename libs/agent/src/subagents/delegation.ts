import { FleetError, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { ConversationState } from '../run/run-state.ts';

/** Where a piece of delegated work stands: what a restart needs, in the call's memo. */
const Delegation = z.object({
  /** What the agent may spend; absent where nothing bounds it. */
  slice_tokens: z.number().optional(),
  /** What the whole task had spent when the work began. */
  spent_before: z.number(),
  /** What its answer may have. */
  max_words: z.int(),
  /** A local agent's conversation. */
  talk: ConversationState.optional(),
  /** Its steps were used up, and it was asked to sum up. */
  summed_up: z.boolean().optional(),
  /** How much of its journal stands in its caller's. */
  recorded: z.int().nonnegative().optional(),
  /**
   * Its answer was too long, and it was asked to condense it: where the full text is, if it could be kept, and what was
   * missing in that.
   */
  condensed: z
    .object({
      full: z.string().optional(),
      why: z.string().optional(),
      remaining: z.array(z.string()).optional(),
    })
    .optional(),
  /** A remote agent's own memo. */
  remote: z.record(z.string(), z.json()).optional(),
});
export type Delegation = z.output<typeof Delegation>;

/** Reads a memo; INTERNAL when it is not one of ours. */
export function readDelegation(memo: JsonObject): Delegation {
  const parsed = Delegation.safeParse(memo);
  if (parsed.success) return parsed.data;
  throw new FleetError('INTERNAL', 'the memo of a delegation cannot be read by this version', {
    cause: parsed.error,
  });
}

export const writeDelegation = (delegation: Delegation): JsonObject =>
  z.record(z.string(), z.json()).parse(JSON.parse(JSON.stringify(delegation)));

/** What whoever delegated is told, of a local agent and of a remote one alike. */
export interface Answer {
  readonly status: 'finished' | 'partial' | 'failed';
  readonly text: string;
  /** Why it is not finished. */
  readonly why?: string | undefined;
  /** Files that it has written, by the record and not by its word. */
  readonly wrote?: readonly string[] | undefined;
  /** What it says is left to do, capped. */
  readonly remaining?: readonly string[] | undefined;
  readonly more?: JsonObject;
}

/** An answer as the result of a call. */
export function answerOutput(agent: string, answer: Answer, spentTokens: number): JsonValue {
  const { status, text, why, wrote, remaining = [], more } = answer;
  return {
    agent,
    status,
    ...(why === undefined ? {} : { why }),
    answer: text,
    ...(wrote === undefined ? {} : { wrote: [...wrote] }),
    ...(remaining.length > 0 ? { remaining: [...remaining] } : {}),
    ...more,
    spent_tokens: spentTokens,
  };
}
