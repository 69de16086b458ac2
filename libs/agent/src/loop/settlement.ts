import type { Reservation } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { LanguageModelUsage } from 'ai';
import type { AgentModel } from '../model/create-model.ts';

type Settlement = Parameters<Reservation['settle']>[0];
type Counts = Omit<Settlement, 'source' | 'model'>;

/** What arrived of an answer. */
export interface ReceivedAnswer {
  /** Text, reasoning and the inputs of calls. */
  text: string;
  usage: LanguageModelUsage | undefined;
}

interface Call {
  readonly model: AgentModel;
  /** Our estimate of the input. */
  readonly inputTokens: number;
  readonly signal: AbortSignal;
}

/**
 * What a call cost (design 2, Tokens). The provider's figures count wherever they can be true. Where there are none, or
 * they can't be true, it is our estimate of the input and our count of the output that arrived, at most what was
 * ordered; a call that was refused before it was read costs nothing.
 */
export async function callUsage(
  call: Call,
  seen: ReceivedAnswer,
  orderedTokens: number,
): Promise<Settlement> {
  const metered = meteredCounts(call, seen, orderedTokens);
  if (metered !== undefined) return { ...metered, source: call.model.usageSource };
  const reached = seen.text !== '' || seen.usage !== undefined || call.signal.aborted;
  const arrived = seen.text === '' ? 0 : await countTokens(seen.text);
  return {
    inputTokens: reached ? call.inputTokens : 0,
    outputTokens: Math.min(arrived, orderedTokens),
    source: 'estimated',
  };
}

/** The whole input by a provider's bill, cached tokens included; undefined without a figure that can be true. */
export function meteredInputTokens(
  call: Call,
  seen: ReceivedAnswer,
  orderedTokens: number,
): number | undefined {
  if (call.model.usageSource !== 'metered') return undefined;
  const counts = meteredCounts(call, seen, orderedTokens);
  if (counts === undefined) return undefined;
  return counts.inputTokens + (counts.cacheReadTokens ?? 0) + (counts.cacheWriteTokens ?? 0);
}

/** The window is our configuration's word: a model may take somewhat more, but not any number. */
const MAX_WINDOWS = 2;
/** Tokenizers differ, and our estimate is on the safe side; but not by more than this. */
const MAX_SHRINKING = 4;
const MAX_CHARS_PER_TOKEN = 32;

/**
 * The provider's numbers, or undefined where they can't be true: no input, a negative or broken number, more cached
 * tokens than there were, far more input than the model can take, far less than was sent, more output than was ordered,
 * far less than arrived.
 */
function meteredCounts(call: Call, seen: ReceivedAnswer, orderedTokens: number): Counts | undefined {
  const { usage } = seen;
  if (!usage?.inputTokens || usage.outputTokens === undefined) return undefined;
  const { cacheReadTokens = 0, cacheWriteTokens = 0, noCacheTokens } = usage.inputTokenDetails;
  const counts = {
    inputTokens: noCacheTokens ?? usage.inputTokens - cacheReadTokens - cacheWriteTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
  };
  const possible =
    Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0) &&
    usage.inputTokens <= MAX_WINDOWS * call.model.info.contextWindow &&
    usage.inputTokens * MAX_SHRINKING >= call.inputTokens &&
    counts.outputTokens <= orderedTokens &&
    counts.outputTokens * MAX_CHARS_PER_TOKEN >= seen.text.length;
  return possible ? counts : undefined;
}
