import type { FollowingEvent, Ledger, NewTask, TaskEvent } from '@hermes-fleet/ledger';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { type Usage, versionOf } from '@hermes-fleet/protocol/handshake';
import type { Count } from '@hermes-fleet/protocol/ports';
import { type Decision, decisionCounts, isSentOn, type Lineage } from './count-decision.ts';
import type { Persist } from './persist.ts';
import { type Ending, encodeEnding } from './task-result.ts';

/** A bound for text of a caller or a peer in an event: the bus refuses large events, and a refused event delays all others. */
const MAX_WORD = 100;

export const short = (word: string): string => word.slice(0, MAX_WORD);

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

/** A task that ends, for its terminal event and its counts. */
export interface EndedTask extends Pick<Cost, 'usage' | 'tier' | 'limit'> {
  readonly id: string;
  /** The version of its dispatch. */
  readonly version: string;
  readonly lineage: Lineage;
  /** Undefined for a task that was canceled or failed before anybody began it. */
  readonly decision: Decision | undefined;
}

/** A task that ends outside a run. Its dispatch may not have been read: without a whole number of tokens it has no limit. */
export function endedOutsideRun(
  { id, dispatch }: Pick<NewTask, 'id' | 'dispatch'>,
  { usage, tier, decision }: Partial<Pick<EndedTask, 'usage' | 'decision'>> & Pick<EndedTask, 'tier'>,
): EndedTask {
  const lineage = isJsonObject(dispatch.task) ? dispatch.task : {};
  const { token_budget: budget } = lineage;
  const limit = typeof budget === 'number' && Number.isSafeInteger(budget) ? budget : undefined;
  return { id, version: versionOf(dispatch), lineage, decision, usage, tier, limit };
}

/** The terminal event of a task, with its result and its counts: a crash loses none of them alone. */
export function endingEvent(
  { version, lineage, decision, ...cost }: Omit<EndedTask, 'id'>,
  ending: Ending,
  versions: readonly string[],
): Required<FollowingEvent> {
  const counts: Count[] = [{ counter: 'tasks', labels: [cost.tier, ending.event], by: 1 }];
  if (decision) counts.push(...decisionCounts(lineage, decision));
  const result = encodeEnding(ending, version, versions);
  const saved = decision?.kind === 'blocked' && !isSentOn(lineage) ? decision.saved : 0;
  const data = endingData(ending, { ...cost, saved });
  return { event: { type: ending.event, data }, change: { result, counts } };
}

/**
 * Writes the ending of a task in one transaction, with the retries of `persist`. That of a run keeps the order of its
 * writes, and the ending shares the commit of those of the same turn. Undefined if the task had ended before. It is not
 * tried any more once `signal` aborts.
 */
export function writeEnding(
  {
    ledger,
    versions,
    signal,
  }: { ledger: Pick<Ledger, 'append'>; versions: readonly string[]; signal: AbortSignal },
  task: EndedTask,
  ending: Ending,
  persist: Persist,
): Promise<TaskEvent | undefined> {
  const { event, change } = endingEvent(task, ending, versions);
  return persist(() => ledger.append(task.id, event, change), signal);
}
