import { FleetError, type Reservation, type TokenEntry, type Usage } from '@hermes-fleet/protocol';

/** From the strongest to the weakest word on what was spent. */
const SOURCES: readonly Usage['source'][] = ['metered', 'estimated', 'reported'];

type Settlement = Parameters<Reservation['settle']>[0];

/** A number of tokens as it came, checked: a provider's NaN must not reach the account. */
export function tokenCount(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new FleetError('INTERNAL', `${name} must be a whole number of tokens, got ${value}`);
}

/** What an entry costs the budget. */
export function tokensOf(entry: TokenEntry, countCache: boolean): number {
  const cache = countCache ? entry.cacheReadTokens + entry.cacheWriteTokens : 0;
  return entry.inputTokens + entry.outputTokens + cache;
}

/** Throws INTERNAL where one more entry would take a task's sum beyond what can be counted exactly. */
export function exactTotal(taskId: string, entries: Iterable<TokenEntry>, more: TokenEntry): void {
  let total = tokensOf(more, true);
  for (const entry of entries) total += tokensOf(entry, true);
  if (Number.isSafeInteger(total)) return;
  throw new FleetError(
    'INTERNAL',
    `${tokensOf(more, true)} tokens more would take the account of task ${taskId} beyond what can be counted: check who reported them`,
  );
}

/** What a call is charged until it is settled. */
export function estimateEntry(model: string, inputTokens: number, outputTokens: number): TokenEntry {
  return {
    kind: 'own',
    inputTokens,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    source: 'estimated',
    model,
  };
}

/** What a call really cost. */
export function meteredEntry(model: string, usage: Settlement): TokenEntry {
  return {
    kind: 'own',
    inputTokens: tokenCount('inputTokens', usage.inputTokens),
    outputTokens: tokenCount('outputTokens', usage.outputTokens),
    cacheReadTokens: tokenCount('cacheReadTokens', usage.cacheReadTokens ?? 0),
    cacheWriteTokens: tokenCount('cacheWriteTokens', usage.cacheWriteTokens ?? 0),
    source: usage.source,
    model: usage.model ?? model,
  };
}

/**
 * The usage of a task: its own calls summed, delegated tokens apart. `source` is the weakest word behind the task's own
 * numbers (metered, then estimated, then reported); `reported` for a task that only delegated.
 */
export function summarize(entries: Iterable<TokenEntry>, model: string): Usage {
  const sum = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let delegatedTokens = 0;
  let weakest = -1;
  let lastModel = model;
  for (const entry of entries) {
    if (entry.kind === 'delegated') {
      delegatedTokens += tokensOf(entry, false);
      continue;
    }
    sum.inputTokens += entry.inputTokens;
    sum.outputTokens += entry.outputTokens;
    sum.cacheReadTokens += entry.cacheReadTokens;
    sum.cacheWriteTokens += entry.cacheWriteTokens;
    weakest = Math.max(weakest, SOURCES.indexOf(entry.source));
    lastModel = entry.model;
  }
  const none = delegatedTokens > 0 ? 'reported' : 'metered';
  return { ...sum, delegatedTokens, model: lastModel, source: SOURCES[weakest] ?? none };
}
