import type { AgentModel } from '@hermes-fleet/agent';
import { callUsage } from '@hermes-fleet/agent';
import type { Reservation } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { LanguageModelUsage } from 'ai';
import type { Arrived } from './answer-tally.ts';

type Bill = Parameters<Reservation['settle']>[0];

/** A provider's figures as the loop has them. */
export function usageOf(usage: NonNullable<Arrived['usage']>): LanguageModelUsage {
  const cacheReadTokens = usage.cache_read_input_tokens;
  const cacheWriteTokens = usage.cache_creation_input_tokens;
  const inputTokens = usage.input_tokens + cacheReadTokens + cacheWriteTokens;
  return {
    inputTokens,
    inputTokenDetails: { noCacheTokens: usage.input_tokens, cacheReadTokens, cacheWriteTokens },
    outputTokens: usage.output_tokens,
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
    totalTokens: inputTokens + usage.output_tokens,
  };
}

interface Call {
  readonly model: AgentModel;
  /** Our estimate of all that was sent. */
  readonly inputTokens: number;
  readonly signal: AbortSignal;
}

/**
 * What a call cost. An answer that broke off is billed by what the provider said at its beginning, and by the output that
 * arrived; where it said nothing, by what was expected.
 */
export async function billOf(
  call: Call,
  arrived: Arrived,
  expected: { readonly inputTokens: number; readonly room: number },
): Promise<Bill> {
  if (!arrived.began && !call.signal.aborted) return { inputTokens: 0, outputTokens: 0, source: 'estimated' };
  const { text, usage } = arrived;
  if (usage === undefined)
    return {
      inputTokens: expected.inputTokens,
      outputTokens: text === '' ? 0 : Math.min(await countTokens(text), expected.room),
      source: 'estimated',
    };
  if (arrived.complete) return callUsage(call, { text, usage: usageOf(usage) }, expected.room);
  const output_tokens = Math.min(await countTokens(text), expected.room);
  const bill = await callUsage(call, { text, usage: usageOf({ ...usage, output_tokens }) }, expected.room);
  return { ...bill, source: 'estimated' };
}
