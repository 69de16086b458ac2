import { type AgentModel, callUsage } from '@hermes-fleet/loop';
import type { Reservation } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { LanguageModelUsage } from 'ai';
import type { ReceivedResponse } from './response-parser.ts';

type Usage = Parameters<Reservation['settle']>[0];

/** Converts a provider's figures to the AI SDK's form. */
export function toSdkUsage(usage: NonNullable<ReceivedResponse['usage']>): LanguageModelUsage {
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
  /** Our estimate of everything that was sent. */
  readonly inputTokens: number;
  readonly signal: AbortSignal;
}

/**
 * The usage to settle for a relayed call (docs/claude-code.md#token-metering). An interrupted response is settled with
 * the figures at its beginning and the received output; without figures, with the reserved input. `received` is undefined
 * when the provider did not accept the call.
 */
export async function relayedUsage(
  call: Call,
  received: ReceivedResponse | undefined,
  reserved: { readonly inputTokens: number; readonly maxOutputTokens: number },
): Promise<Usage> {
  if (received === undefined && !call.signal.aborted)
    return { inputTokens: 0, outputTokens: 0, source: 'estimated' };
  const { text = '', usage, complete = false } = received ?? {};
  const { maxOutputTokens } = reserved;
  if (usage === undefined)
    return {
      inputTokens: reserved.inputTokens,
      outputTokens: text === '' ? 0 : Math.min(await countTokens(text), maxOutputTokens),
      source: 'estimated',
    };
  if (complete) return callUsage(call, { text, usage: toSdkUsage(usage) }, maxOutputTokens);
  const output_tokens = Math.min(await countTokens(text), maxOutputTokens);
  const interrupted = { text, usage: toSdkUsage({ ...usage, output_tokens }) };
  return { ...(await callUsage(call, interrupted, maxOutputTokens)), source: 'estimated' };
}
