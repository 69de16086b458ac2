import { definedFields, FleetError, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { ConversationState } from '../run/run-state.ts';

/** The state of delegated work, stored in the call's memo, from which a restart resumes. */
const Delegation = z.object({
  /** The agent's budget slice; absent if it is unlimited. */
  slice_tokens: z.number().optional(),
  /** Tokens the whole task had spent when the work began. */
  spent_before: z.number(),
  max_words: z.int(),
  talk: ConversationState.optional(),
  /** True once the agent was asked to sum up because it may take no further step. */
  summed_up: z.boolean().optional(),
  /** Number of journal entries already copied to the caller's journal. */
  recorded: z.int().nonnegative().optional(),
  /** Set once it was asked to condense: the path of the full text, if kept, and what that left undone. */
  condensed: z
    .object({
      full: z.string().optional(),
      why: z.string().optional(),
      remaining: z.array(z.string()).optional(),
    })
    .optional(),
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
  const left = remaining.length > 0 ? [...remaining] : undefined;
  const fields = { agent, status, why, answer: text, wrote: wrote && [...wrote], remaining: left };
  return { ...definedFields<JsonValue>(fields), ...more, spent_tokens: spentTokens };
}
