import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { Usage } from '@hermes-fleet/protocol/handshake';
import { short } from './short.ts';
import type { Ending } from './task-result.ts';

const MAX_UNMET = 20;

/** What a task has cost, for its terminal event. */
export interface Cost {
  /** Undefined for a task that no model was called for, and that nobody did a part of. */
  readonly usage: Usage | undefined;
  /** The tier of the model that ran it, or would have. */
  readonly tier: string;
  /** The ceiling of its budget, if it has one. */
  readonly limit: number | undefined;
  /** The tokens that blocking it has saved. */
  readonly saved: number;
}

/** The data of a terminal event (docs/events.md#the-events): small values, never a brief or the text of a model. */
export function endingData({ event, result }: Ending, cost: Cost): JsonObject {
  const { status, tokensSpent, executedBy, durationMs, unmet = [], error, attempts } = result;
  const data: Record<string, JsonValue> = {
    status: event === 'canceled' ? 'canceled' : status,
    tokens_spent: tokensSpent,
    ...costData(tokensSpent, cost),
  };
  if (executedBy !== undefined) data.executed_by = short(executedBy);
  if (durationMs !== undefined) data.duration_ms = Math.round(durationMs);
  if (status === 'blocked') {
    data.reason = unmet[0]?.kind ?? 'peer';
    data.unmet = unmet.slice(0, MAX_UNMET).map(({ kind, name }) => ({ kind, name: short(name) }));
    data.saved_tokens = cost.saved;
  }
  if (error) {
    data.error = short(error.code);
    data.retryable = error.retryable;
  }
  if (attempts) data.attempts = attempts.length;
  return data;
}

function costData(tokensSpent: number, { usage, tier, limit }: Cost): JsonObject {
  const delegated = usage?.delegatedTokens ?? 0;
  return {
    own_tokens: Math.max(0, tokensSpent - delegated),
    delegated_tokens: delegated,
    usage: {
      input_tokens: usage?.inputTokens ?? 0,
      output_tokens: usage?.outputTokens ?? 0,
      cache_read_tokens: usage?.cacheReadTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteTokens ?? 0,
      reasoning_tokens: usage?.reasoningTokens ?? 0,
    },
    model: usage === undefined ? null : short(usage.model),
    model_tier: tier,
    budget_tokens: limit ?? null,
    overrun: limit !== undefined && tokensSpent > limit,
  };
}
