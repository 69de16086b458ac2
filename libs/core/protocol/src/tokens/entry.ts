import { FleetError } from '../errors.ts';
import type { Usage } from '../handshake/result.ts';
import type { Reservation } from '../ports/execution.ts';
import type { TokenEntry } from '../ports/ledger.ts';

/** From the most to the least reliable. */
const SOURCES: readonly Usage['source'][] = ['metered', 'estimated', 'reported'];

type Settlement = Parameters<Reservation['settle']>[0];

/** Validates a number of tokens: a provider's NaN must not reach the account. */
export function tokenCount(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new FleetError('INTERNAL', `${name} must be a whole number of tokens, got ${value}`);
}

/** The tokens of an entry that count against the budget. */
export function tokensOf(entry: TokenEntry, countCache: boolean): number {
  const cache = countCache ? entry.cacheReadTokens + entry.cacheWriteTokens : 0;
  return entry.inputTokens + entry.outputTokens + cache;
}

/** Throws INTERNAL if the sum of a task's entries with `added` exceeds the safe integers. */
export function assertExactTotal(taskId: string, entries: Iterable<TokenEntry>, added: TokenEntry): void {
  let total = tokensOf(added, true);
  for (const entry of entries) total += tokensOf(entry, true);
  if (Number.isSafeInteger(total)) return;
  throw new FleetError(
    'INTERNAL',
    `${tokensOf(added, true)} more tokens make the account of task ${taskId} too large to count: check their source`,
  );
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** The charge of a call until it is settled. */
export const estimateEntry = (model: string, inputTokens: number, outputTokens: number): TokenEntry => ({
  ...NO_TOKENS,
  kind: 'own',
  inputTokens,
  outputTokens,
  source: 'estimated',
  model,
});

/** The charge of a settled call. */
export function meteredEntry(model: string, usage: Settlement): TokenEntry {
  return {
    kind: 'own',
    inputTokens: tokenCount('inputTokens', usage.inputTokens),
    outputTokens: tokenCount('outputTokens', usage.outputTokens),
    cacheReadTokens: tokenCount('cacheReadTokens', usage.cacheReadTokens ?? 0),
    cacheWriteTokens: tokenCount('cacheWriteTokens', usage.cacheWriteTokens ?? 0),
    ...reasoningIn(tokenCount('reasoningTokens', usage.reasoningTokens ?? 0)),
    source: usage.source,
    model: usage.model ?? model,
  };
}

const reasoningIn = (tokens: number): { readonly reasoningTokens?: number } =>
  tokens > 0 ? { reasoningTokens: tokens } : {};

/** The charge of work that a peer did: one number, of which nobody here knows the parts. */
export const delegatedEntry = (model: string, tokens: number): TokenEntry => ({
  ...NO_TOKENS,
  kind: 'delegated',
  inputTokens: tokenCount('tokens', tokens),
  source: 'reported',
  model,
});

/**
 * The usage of a task: the sum of its own calls, and delegated tokens separately. `source` is the least reliable source
 * of the own calls (metered, estimated, reported); `reported` for a task that only delegated.
 */
export function summarize(entries: Iterable<TokenEntry>, model: string): Usage {
  const sum = { ...NO_TOKENS };
  let delegatedTokens = 0;
  let reasoningTokens = 0;
  let leastReliable = -1;
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
    reasoningTokens += entry.reasoningTokens ?? 0;
    leastReliable = Math.max(leastReliable, SOURCES.indexOf(entry.source));
    lastModel = entry.model;
  }
  const withoutCalls = delegatedTokens > 0 ? 'reported' : 'metered';
  const source = SOURCES[leastReliable] ?? withoutCalls;
  return { ...sum, ...reasoningIn(reasoningTokens), delegatedTokens, model: lastModel, source };
}

/** The usage of a task whose run is over, from its entries; undefined without one. */
export function usageOf(entries: readonly TokenEntry[]): Usage | undefined {
  const last = entries.at(-1);
  return last && summarize(entries, last.model);
}

/** The usage of a task that has no entry. */
export const noUsage = (model: string): Usage => summarize([], model);
