import type { JsonObject } from '@hermes-fleet/protocol';
import type { Reservation } from '@hermes-fleet/protocol/ports';

type Settlement = Parameters<Reservation['settle']>[0];

/** The tokens of model calls that no event has told of yet. */
export function createCallTokens() {
  let calls: Settlement[] = [];
  return {
    /** Must be called for each call, and for each attempt that failed, with what is booked for it, which may be nothing. */
    add(usage: Settlement): void {
      const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
      if (inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens > 0) calls.push(usage);
    },
    /** The fields `usage` and `model` of the next progress event (docs/events.md#the-events); empty if nothing was spent. */
    takeFields(): JsonObject {
      const taken = calls;
      calls = [];
      const model = taken.at(-1)?.model;
      if (taken.length === 0) return {};
      const sum = (count: (usage: Settlement) => number | undefined): number =>
        taken.reduce((total, usage) => total + (count(usage) ?? 0), 0);
      return {
        usage: {
          input_tokens: sum(({ inputTokens }) => inputTokens),
          output_tokens: sum(({ outputTokens }) => outputTokens),
          cache_read_tokens: sum(({ cacheReadTokens }) => cacheReadTokens),
          cache_write_tokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
          reasoning_tokens: sum(({ reasoningTokens }) => reasoningTokens),
        },
        ...(model === undefined ? {} : { model }),
      };
    },
  };
}
