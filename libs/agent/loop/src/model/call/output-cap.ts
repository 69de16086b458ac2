import { countTokens } from '@hermes-fleet/protocol/tokens';

/** Providers' tokenizers differ from ours, so an answer may exceed the limit by this much in our count. */
const SLACK = 1 / 8;
const SLACK_TOKENS = 16;

/**
 * Watches the length of an answer for providers that ignore `max_tokens`. `add` resolves with true once it certainly
 * exceeds the limit; the tokenizer runs only when the bytes could reach it: a token has at least one.
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
