import { FleetError } from '../errors.ts';
import type { Usage } from '../handshake/result.ts';
import type { Budget, Reservation } from '../ports/execution.ts';
import type { TokenEntry, TokenStore } from '../ports/ledger.ts';
import {
  assertExactTotal,
  delegatedEntry,
  estimateEntry,
  meteredEntry,
  summarize,
  tokenCount,
  tokensOf,
} from './entry.ts';

export interface BoundedReservation extends Reservation {
  /** The reserved output tokens: the requested ones, or fewer if the ceiling leaves less after the input. */
  readonly maxOutputTokens: number;
}

export interface TaskBudget extends Budget {
  reserve(estimate: { inputTokens: number; maxOutputTokens: number }): Promise<BoundedReservation>;
}

export interface BudgetOptions {
  readonly taskId: string;
  /** The ceiling in tokens (`token_budget`), or undefined without one. */
  readonly limit: number | undefined;
  readonly store: TokenStore;
  /** The model of calls whose settlement names no other. */
  readonly model: string;
  /** Counts cache reads and writes as spent (`budget.count_cache`, default false). */
  readonly countCache?: boolean;
}

/**
 * The token budget of one task (docs/handshake.md#tokens). Starts with the entries in the store: after a restart the
 * numbers are the same, and a reservation that a crash left unsettled stays charged. With one budget per task and
 * process, concurrent reservations never exceed the ceiling together. Only two things exceed it: metered tokens above
 * their estimate, and an estimate that is charged again because its settlement could not be written. A settlement
 * counts as soon as it begins.
 *
 * `inputTokens` never include cache reads or writes: executors book those separately. Throws INTERNAL for invalid token
 * counts and for sums that are not exact, without a change to the account.
 */
export function createBudget(options: BudgetOptions): TaskBudget {
  const { taskId, limit, store, model, countCache = false } = options;
  const entries = new Set<TokenEntry>(store.entries(taskId));
  const cost = (entry: TokenEntry): number => tokensOf(entry, countCache);

  function spent(): number {
    let sum = 0;
    for (const entry of entries) sum += cost(entry);
    return sum;
  }

  function remaining(): number {
    return limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - spent());
  }

  /** The output tokens that the ceiling allows for a call. Throws BUDGET_EXHAUSTED. */
  function boundOutput(inputTokens: number, maxOutputTokens: number): number {
    const left = remaining();
    const bounded = Math.min(maxOutputTokens, left - inputTokens);
    if (bounded >= Math.min(1, maxOutputTokens)) return bounded;
    throw new FleetError(
      'BUDGET_EXHAUSTED',
      `a model call with ${inputTokens} input tokens does not fit: ${left} of the task's ${limit} tokens are left; raise token_budget`,
    );
  }

  async function reserve(estimate: { inputTokens: number; maxOutputTokens: number }) {
    const inputTokens = tokenCount('inputTokens', estimate.inputTokens);
    const requested = tokenCount('maxOutputTokens', estimate.maxOutputTokens);
    const maxOutputTokens = boundOutput(inputTokens, requested);
    const booked = estimateEntry(model, inputTokens, maxOutputTokens);
    assertExactTotal(taskId, entries, booked);
    // Added before the first await: a concurrent reservation must see it.
    entries.add(booked);
    try {
      const id = await store.reserve(taskId, booked);
      return { maxOutputTokens, settle: settlement(id, booked) };
    } catch (error) {
      entries.delete(booked);
      throw error;
    }
  }

  function settlement(id: string, booked: TokenEntry): Reservation['settle'] {
    let state: 'open' | 'settling' | 'settled' = 'open';
    return async (usage) => {
      if (state !== 'open') {
        throw new FleetError('INTERNAL', `a reservation of task ${taskId} was settled twice; settle it once`);
      }
      const actual = meteredEntry(model, usage);
      assertExactTotal(taskId, entries, actual);
      state = 'settling';
      entries.delete(booked);
      entries.add(actual);
      try {
        await store.settle(id, actual);
      } catch (error) {
        // The estimate stays charged, in the store and here, until a later attempt succeeds.
        state = 'open';
        entries.delete(actual);
        entries.add(booked);
        throw error;
      }
      state = 'settled';
    };
  }

  async function addDelegated(tokens: number, work = model): Promise<void> {
    const entry = delegatedEntry(work, tokens);
    if (entry.inputTokens === 0) return;
    assertExactTotal(taskId, entries, entry);
    entries.add(entry);
    try {
      await store.add(taskId, entry);
    } catch (error) {
      entries.delete(entry);
      throw error;
    }
  }

  function delegatedTo(work: string): number {
    let sum = 0;
    for (const entry of entries) if (entry.kind === 'delegated' && entry.model === work) sum += cost(entry);
    return sum;
  }

  const usage = (): Usage => summarize(entries, model);

  return { limit, spent, remaining, reserve, addDelegated, delegatedTo, usage };
}
