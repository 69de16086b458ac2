import type { Reservation } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { LanguageModelUsage } from 'ai';
import { z } from 'zod';
import type { AgentModel } from './agent-model.ts';

type Usage = Parameters<Reservation['settle']>[0];

/** The part of an answer that was received, also if it was interrupted. */
export interface ReceivedAnswer {
  /** Text, reasoning and the inputs of tool calls. */
  text: string;
  /** The provider's figures. */
  usage: CallFigures | undefined;
  /** We gave up waiting: the provider has the request, and may charge for it. */
  isAbandoned?: boolean;
}

/** A provider's figures of a call; a count that it does not state, or that is no count, is absent. */
export type CallFigures = z.output<typeof CallFigures>;
export const CallFigures = z.object({
  /** The whole input, cached tokens included. */
  input: z.int().optional(),
  /** Reasoning included. */
  output: z.int().optional(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  reasoning: z.int(),
});

/** A call takes no more tokens than this: a greater figure is none. */
const MAX_TOKENS = 100_000_000;

/** A number of tokens, also one written as text; undefined for anything else. */
export function count(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^\s*\d[\d,]*(?:\.0+)?\s*$/.test(value);
  const number = isText ? Number(value.replaceAll(',', '')) : value;
  const isCount =
    typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 && number <= MAX_TOKENS;
  return isCount ? number : undefined;
}

/** The figures of a provider's package. */
export function sdkFigures({
  inputTokens,
  outputTokens,
  inputTokenDetails,
  outputTokenDetails,
}: LanguageModelUsage): CallFigures {
  const { cacheReadTokens, cacheWriteTokens, noCacheTokens } = inputTokenDetails;
  const cacheRead = count(cacheReadTokens) ?? 0;
  const cacheWrite = count(cacheWriteTokens) ?? 0;
  const sum = count(noCacheTokens);
  return {
    input: sum === undefined ? count(inputTokens) : sum + cacheRead + cacheWrite,
    output: count(outputTokens),
    cacheRead,
    cacheWrite,
    reasoning: count(outputTokenDetails.reasoningTokens) ?? 0,
  };
}

/** Merges the figures of two frames: the last that is not 0 counts. */
export function mergedFigures(first: CallFigures | undefined, second: CallFigures | undefined) {
  if (first === undefined || second === undefined) return second ?? first;
  const stated = Object.entries(second).filter(([, figure]) => figure !== 0);
  return CallFigures.parse({ ...first, ...Object.fromEntries(stated) });
}

interface Call {
  readonly model: AgentModel;
  readonly inputTokens: number;
  readonly signal: AbortSignal;
}

/**
 * The provider's figures, and our estimate of what it does not state: an input of 0, and an output of 0 beside a text, are
 * not stated. Nothing for a call that was refused unprocessed.
 */
export async function callUsage(
  call: Call,
  { text, usage, isAbandoned }: ReceivedAnswer,
  maxOutputTokens: number,
): Promise<Usage> {
  const { usageSource } = call.model;
  const isProcessed = text !== '' || usage !== undefined || isAbandoned || call.signal.aborted;
  // That a refused call costs nothing is no estimate.
  if (!isProcessed) return { inputTokens: 0, outputTokens: 0, source: usageSource };
  const output = usage?.output || (text === '' ? usage?.output : undefined);
  const outputTokens = output ?? (text === '' ? 0 : Math.min(await countTokens(text), maxOutputTokens));
  if (!usage?.input) return { inputTokens: call.inputTokens, outputTokens, source: 'estimated' };
  const { input, cacheRead, cacheWrite, reasoning } = usage;
  const isInside = cacheRead + cacheWrite <= input;
  return {
    inputTokens: isInside ? input - cacheRead - cacheWrite : input,
    outputTokens,
    ...(isInside && { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite }),
    // Only a part of the output, and not charged by itself: a figure that cannot be is left out.
    ...(reasoning > 0 && reasoning <= outputTokens && { reasoningTokens: reasoning }),
    source: output === undefined ? 'estimated' : usageSource,
  };
}

/** The context window is configured, so a model may accept more than that, within reason. */
const MAX_WINDOWS = 2;
/** Tokenizers differ, but by no more than this factor: a figure beyond it is booked, and says nothing about the window. */
const MAX_FACTOR = 3;

/** The provider's figure for the whole input, cached tokens included; undefined without a plausible one. */
export function meteredInputTokens(call: Call, { usage }: ReceivedAnswer): number | undefined {
  if (call.model.usageSource !== 'metered' || !usage?.input) return undefined;
  const isPlausible =
    usage.input <= MAX_WINDOWS * call.model.info.contextWindow &&
    usage.input * MAX_FACTOR >= call.inputTokens;
  return isPlausible ? usage.input : undefined;
}

/** True where a provider's figure for the input is more than three times our estimate, or less than a third of it. */
export const isFarFromEstimate = ({ inputTokens }: Call, { usage }: ReceivedAnswer): boolean =>
  !!usage?.input && (usage.input > MAX_FACTOR * inputTokens || usage.input * MAX_FACTOR < inputTokens);
