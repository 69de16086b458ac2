import { countTokens } from '@hermes-fleet/protocol/tokens';

/** Providers' tokenizers differ from ours, so an answer may exceed the limit by this much in our count. */
const SLACK = 1 / 8;
const SLACK_TOKENS = 16;

/**
 * Watches the length of a streamed answer, for providers that ignore `max_tokens`. `add` resolves with true once the
 * answer certainly exceeds the limit. It runs the tokenizer only when the bytes since the last count could reach the
 * limit: a token has at least one byte.
 */
export function createOutputCap(maxTokens: number): { add(delta: string): Promise<boolean> } {
  const ceiling = Math.ceil(maxTokens * (1 + SLACK)) + SLACK_TOKENS;
  let counted = 0;
  let pending = '';
  let pendingBytes = 0;
  return {
    async add(delta) {
      pending += delta;
      pendingBytes += Buffer.byteLength(delta);
      if (counted + pendingBytes <= ceiling) return false;
      counted += await countTokens(pending);
      pending = '';
      pendingBytes = 0;
      return counted > ceiling;
    },
  };
}
