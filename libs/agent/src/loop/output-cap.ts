import { countTokens } from '@hermes-fleet/tokens';

/** Providers count with tokenizers of their own, so an answer may look this much longer to ours than it is to theirs. */
const SLACK = 1 / 8;
const SLACK_TOKENS = 16;

/**
 * Watches the length of an answer while it arrives, for a provider that does not keep to `max_tokens`. `add` resolves
 * to true once the answer is certainly longer than what was ordered. It counts only when the bytes that came since the
 * last count could reach that far: a token has at least one byte.
 */
export function createOutputCap(orderedTokens: number): { add(delta: string): Promise<boolean> } {
  const ceiling = Math.ceil(orderedTokens * (1 + SLACK)) + SLACK_TOKENS;
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
