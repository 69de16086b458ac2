import { type AgentModel, type CallFigures, callUsage } from '@hermes-fleet/loop';
import type { Reservation } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { ReceivedResponse } from './response-parser.ts';

type Usage = Parameters<Reservation['settle']>[0];

/** A provider's figures, as `callUsage` takes them. */
export function callFigures(usage: NonNullable<ReceivedResponse['usage']>): CallFigures {
  const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite } = usage;
  const input = usage.input_tokens + cacheRead + cacheWrite;
  return { input, output: usage.output_tokens, cacheRead, cacheWrite, reasoning: 0 };
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
  if (complete) return callUsage(call, { text, usage: callFigures(usage) }, maxOutputTokens);
  const output_tokens = Math.min(await countTokens(text), maxOutputTokens);
  const interrupted = { text, usage: callFigures({ ...usage, output_tokens }) };
  return { ...(await callUsage(call, interrupted, maxOutputTokens)), source: 'estimated' };
}
