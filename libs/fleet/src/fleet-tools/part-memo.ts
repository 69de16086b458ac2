import { isJsonObject, type JsonObject, type RunContext, type ToolCall } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { Slice } from './part-budget.ts';

const Memo = z.object({
  part: z.literal(1),
  limit: z.number().optional(),
  before: z.number(),
  relay: z.custom<JsonObject>(isJsonObject),
});

/** What a call has to know after a restart: its slice, and where the relay stands with it. */
export type PartMemo = z.output<typeof Memo>;

/** The memo of a call that an earlier process began; undefined where the peers have heard nothing of it yet. */
export function readMemo(memo: ToolCall['memo']): PartMemo | undefined {
  const saved = memo.load();
  return saved === undefined ? undefined : Memo.parse(saved);
}

/** The relay's checkpoint, kept in the call's memo. */
export function checkpointIn(memo: ToolCall['memo'], slice: Slice): RunContext['checkpoint'] {
  const { limit, before } = slice;
  return {
    load: () => readMemo(memo)?.relay,
    save: (relay) => memo.save({ part: 1, ...(limit === undefined ? {} : { limit }), before, relay }),
  };
}
