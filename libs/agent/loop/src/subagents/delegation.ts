import { FleetError, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { ConversationState } from '../run/run-state.ts';

/** The state of delegated work, stored in the call's memo, from which a restart resumes. */
const Delegation = z.object({
  /** The agent's budget slice; absent if it is unlimited. */
  slice_tokens: z.number().optional(),
  /** Tokens the whole task had spent when the work began. */
  spent_before: z.number(),
  /** Word limit of the answer. */
  max_words: z.int(),
  /** A local agent's conversation. */
  talk: ConversationState.optional(),
  /** True once the agent was asked to sum up because it may take no further step. */
  summed_up: z.boolean().optional(),
  /** Number of journal entries already copied to the caller's journal. */
  recorded: z.int().nonnegative().optional(),
  /**
   * Set once the agent was asked to condense an answer that was too long: the path of the full text, if it was kept, and
   * what the full answer left undone.
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

/** Parses a memo. Throws INTERNAL if this version cannot read it. */
export function readDelegation(memo: JsonObject): Delegation {
  const parsed = Delegation.safeParse(memo);
  if (parsed.success) return parsed.data;
  throw new FleetError('INTERNAL', 'the memo of a delegation cannot be read by this version', {
    cause: parsed.error,
  });
}

export const writeDelegation = (delegation: Delegation): JsonObject =>
  z.record(z.string(), z.json()).parse(JSON.parse(JSON.stringify(delegation)));

/** The answer given to the caller, the same for local and remote agents. */
export interface Answer {
  readonly status: 'finished' | 'partial' | 'failed';
  readonly text: string;
  /** The reason why it is not finished. */
  readonly why?: string | undefined;
  /** Files it wrote according to the journal, not according to its own claim. */
  readonly wrote?: readonly string[] | undefined;
  /** Remaining work that it reports, limited in length. */
  readonly remaining?: readonly string[] | undefined;
  readonly more?: JsonObject;
}

/** An answer as the output of the `delegate` call. */
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
