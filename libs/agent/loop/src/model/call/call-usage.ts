import type { Reservation } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { LanguageModelUsage } from 'ai';
import type { AgentModel } from './agent-model.ts';

type Usage = Parameters<Reservation['settle']>[0];
type Counts = Omit<Usage, 'source' | 'model'>;

/** The part of an answer that was received, also if it was interrupted. */
export interface ReceivedAnswer {
  /** Text, reasoning and the inputs of tool calls. */
  text: string;
  usage: LanguageModelUsage | undefined;
  /** We gave up waiting: the provider has the request, and may charge for it. */
  isAbandoned?: boolean;
}

interface Call {
  readonly model: AgentModel;
  readonly inputTokens: number;
  readonly signal: AbortSignal;
}

/** The provider's figures when plausible, else our estimate; nothing for a call that was refused unprocessed. */
export async function callUsage(
  call: Call,
  received: ReceivedAnswer,
  maxOutputTokens: number,
): Promise<Usage> {
  const metered = meteredCounts(call, received, maxOutputTokens);
  if (metered !== undefined) return { ...metered, source: call.model.usageSource };
  const isProcessed =
    received.text !== '' || received.usage !== undefined || received.isAbandoned || call.signal.aborted;
  const outputTokens = received.text === '' ? 0 : await countTokens(received.text);
  return {
    inputTokens: isProcessed ? call.inputTokens : 0,
    outputTokens: Math.min(outputTokens, maxOutputTokens),
    // That a refused call costs nothing is no estimate.
    source: isProcessed ? 'estimated' : call.model.usageSource,
  };
}

/** The provider's figure for the whole input, cached tokens included; undefined without a plausible figure. */
export function meteredInputTokens(
  call: Call,
  received: ReceivedAnswer,
  maxOutputTokens: number,
): number | undefined {
  if (call.model.usageSource !== 'metered') return undefined;
  const counts = meteredCounts(call, received, maxOutputTokens);
  if (counts === undefined) return undefined;
  return counts.inputTokens + (counts.cacheReadTokens ?? 0) + (counts.cacheWriteTokens ?? 0);
}

/** The context window is configured, so a model may accept more than that, within reason. */
const MAX_WINDOWS = 2;
/** Tokenizers differ and our estimate is high, but by no more than this factor. */
const MAX_OVERESTIMATE = 4;
const MAX_CHARS_PER_TOKEN = 32;

/** Undefined when implausible: no input, no whole number, more cached than sent, far from our counts, or over a limit. */
function meteredCounts(call: Call, received: ReceivedAnswer, maxOutputTokens: number): Counts | undefined {
  const { usage } = received;
  if (!usage?.inputTokens || usage.outputTokens === undefined) return undefined;
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const counts = {
    inputTokens: noCacheTokens ?? usage.inputTokens - cacheReadTokens - cacheWriteTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
  };
  const reasoning = usage.outputTokenDetails.reasoningTokens ?? 0;
  const isPlausible =
    Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0) &&
    usage.inputTokens <= MAX_WINDOWS * call.model.info.contextWindow &&
    usage.inputTokens * MAX_OVERESTIMATE >= call.inputTokens &&
    counts.outputTokens <= maxOutputTokens &&
    counts.outputTokens * MAX_CHARS_PER_TOKEN >= received.text.length;
  if (!isPlausible) return undefined;
  // Only a part of the output, and not charged by itself: a figure that cannot be is left out.
  const isPart = Number.isSafeInteger(reasoning) && reasoning > 0 && reasoning <= counts.outputTokens;
  return isPart ? { ...counts, reasoningTokens: reasoning } : counts;
}
