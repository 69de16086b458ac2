import type { TaskRecord } from '@hermes-fleet/ledger';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Answer, TaskCost } from '@hermes-fleet/protocol/api';
import type { TokenEntry, TokenStore } from '@hermes-fleet/protocol/ports';
import { createBudget } from '@hermes-fleet/protocol/tokens';

export interface CostOptions {
  readonly ledger: { readonly tokens: TokenStore };
  readonly defaultBudget?: number | undefined;
  readonly countCache: boolean;
}

/**
 * The cost of a task so far, from its durable account (docs/handshake.md#tokens): own and delegated tokens, by model and
 * source. A call in progress counts with its estimate.
 */
export function costView(
  task: TaskRecord,
  { ledger, defaultBudget, countCache }: CostOptions,
): Answer<typeof TaskCost> {
  const limit = budgetIn(task.dispatch) ?? defaultBudget;
  const budget = createBudget({ taskId: task.id, limit, store: ledger.tokens, model: '', countCache });
  const {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    delegatedTokens = 0,
  } = budget.usage();
  return {
    id: task.id,
    task_id: task.key,
    state: task.state,
    tokens_spent: budget.spent(),
    budget: limit === undefined ? null : { token_budget: limit, remaining: budget.remaining() },
    own: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cache_read_tokens: cacheReadTokens ?? 0,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    delegated_tokens: delegatedTokens,
    entries: summed(ledger.tokens.entries(task.id)),
  };
}

function budgetIn({ task }: JsonObject): number | undefined {
  const budget = isJsonObject(task) ? task.token_budget : undefined;
  return typeof budget === 'number' ? budget : undefined;
}

/** One entry per kind, source and model, in the order of their first call. */
function summed(entries: readonly TokenEntry[]): Answer<typeof TaskCost>['entries'] {
  const groups = Map.groupBy(entries, ({ kind, source, model }) => JSON.stringify([kind, source, model]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const sum = (of: (entry: TokenEntry) => number): number =>
      group.reduce((total, each) => total + of(each), 0);
    return [
      {
        kind: first.kind,
        source: first.source,
        model: first.model,
        calls: group.length,
        input_tokens: sum(({ inputTokens }) => inputTokens),
        output_tokens: sum(({ outputTokens }) => outputTokens),
        cache_read_tokens: sum(({ cacheReadTokens }) => cacheReadTokens),
        cache_write_tokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
      },
    ];
  });
}
