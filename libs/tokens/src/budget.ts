import {
  type Budget,
  FleetError,
  type Reservation,
  type TokenEntry,
  type TokenStore,
  type Usage,
} from '@hermes-fleet/protocol';
import { estimateEntry, exactTotal, meteredEntry, summarize, tokenCount, tokensOf } from './entry.ts';

/** A reservation that says how much output it has room for. */
export interface BoundedReservation extends Reservation {
  /** The output tokens booked: what was asked for, or what the ceiling leaves beside the input. */
  readonly maxOutputTokens: number;
}

export interface TaskBudget extends Budget {
  reserve(estimate: { inputTokens: number; maxOutputTokens: number }): Promise<BoundedReservation>;
}

export interface BudgetOptions {
  readonly taskId: string;
  /** The ceiling in tokens (`token_budget`), or undefined for none. */
  readonly limit: number | undefined;
  readonly store: TokenStore;
  /** The model that calls are booked under unless a settlement names another. */
  readonly model: string;
  /** Whether cache reads and writes count as spent (`budget.count_cache`, default false). */
  readonly countCache?: boolean;
  /** Called after a settlement or a delegation is durable, once each. */
  readonly onBooked?: (entry: TokenEntry) => void;
}

/**
 * The tokens of one task against its ceiling (design 2, Tokens). It starts from what the store holds, so a restart goes
 * on with the same numbers and a reservation that a crash left open stays charged. One budget per task and process: it
 * admits concurrent reservations one after the other, so together they never pass the ceiling. What passes it is only
 * the difference between an estimate and what the provider then metered, or what is charged again because a settlement
 * could not be written. A settlement counts from the moment it begins.
 *
 * `inputTokens` never include cache reads or writes: executors book those apart. Numbers that are no token counts, or
 * with which the sum would be none, are refused with INTERNAL and leave the account as it was.
 */
export function createBudget(o: BudgetOptions): TaskBudget {
  const entries = new Set<TokenEntry>(o.store.entries(o.taskId));
  const cost = (entry: TokenEntry): number => tokensOf(entry, o.countCache ?? false);

  function spent(): number {
    let sum = 0;
    for (const entry of entries) sum += cost(entry);
    return sum;
  }

  function remaining(): number {
    return o.limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, o.limit - spent());
  }

  /** Room for a call's output, or BUDGET_EXHAUSTED. */
  function roomForOutput(inputTokens: number, maxOutputTokens: number): number {
    const left = remaining();
    const room = Math.min(maxOutputTokens, left - inputTokens);
    if (room >= Math.min(1, maxOutputTokens)) return room;
    throw new FleetError(
      'BUDGET_EXHAUSTED',
      `a model call with ${inputTokens} input tokens does not fit: ${left} of the task's ${o.limit} tokens are left; raise token_budget`,
    );
  }

  async function reserve(estimate: { inputTokens: number; maxOutputTokens: number }) {
    const inputTokens = tokenCount('inputTokens', estimate.inputTokens);
    const asked = tokenCount('maxOutputTokens', estimate.maxOutputTokens);
    const maxOutputTokens = roomForOutput(inputTokens, asked);
    const booked = estimateEntry(o.model, inputTokens, maxOutputTokens);
    exactTotal(o.taskId, entries, booked);
    // Held before the first await, so that a concurrent reservation sees it.
    entries.add(booked);
    try {
      const id = await o.store.reserve(o.taskId, booked);
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
        throw new FleetError(
          'INTERNAL',
          `a reservation of task ${o.taskId} was settled twice; settle it once`,
        );
      }
      const actual = meteredEntry(o.model, usage);
      exactTotal(o.taskId, entries, actual);
      state = 'settling';
      entries.delete(booked);
      entries.add(actual);
      try {
        await o.store.settle(id, actual);
      } catch (error) {
        // The estimate stands, in the store and here, until a later attempt succeeds.
        state = 'open';
        entries.delete(actual);
        entries.add(booked);
        throw error;
      }
      state = 'settled';
      o.onBooked?.(actual);
    };
  }

  async function addDelegated(tokens: number, work = o.model): Promise<void> {
    if (tokenCount('tokens', tokens) === 0) return;
    const entry: TokenEntry = {
      kind: 'delegated',
      inputTokens: tokens,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      source: 'reported',
      model: work,
    };
    exactTotal(o.taskId, entries, entry);
    entries.add(entry);
    try {
      await o.store.add(o.taskId, entry);
    } catch (error) {
      entries.delete(entry);
      throw error;
    }
    o.onBooked?.(entry);
  }

  function delegatedTo(work: string): number {
    let sum = 0;
    for (const entry of entries) if (entry.kind === 'delegated' && entry.model === work) sum += cost(entry);
    return sum;
  }

  const usage = (): Usage => summarize(entries, o.model);

  return { limit: o.limit, spent, remaining, reserve, addDelegated, delegatedTo, usage };
}
