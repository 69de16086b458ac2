import type { Concern, Strategy } from '@hermes-fleet/market';
import type { Queries } from '@hermes-fleet/store';
import type { AuditHead } from '../control/audit-verifier.ts';
import { endOf } from './audit.ts';
import { concernIn, putConcern, putStrategy, strategyIn } from './tables.ts';

export type TransactionCache = ReturnType<typeof createTransactionCache>;

/**
 * What transactions read again and again: the end of the audit chain, concerns and strategies. It has what the open
 * transaction would read, including its own writes, so it is only right while nothing is rolled back: after that, `forget`.
 * It never has more entries than the tables have rows.
 */
export function createTransactionCache() {
  let end: AuditHead | undefined;
  const concerns = new Map<string, Concern>();
  const strategies = new Map<string, Strategy>();

  /** Ids that are not found are a caller's text, and are not kept. */
  const kept = <T>(cache: Map<string, T>, id: string, read: () => T | undefined): T | undefined => {
    const known = cache.get(id);
    if (known !== undefined) return known;
    const found = read();
    if (found !== undefined) cache.set(id, found);
    return found;
  };

  return {
    /** The record that the next one continues. */
    end: (db: Queries): AuditHead => {
      end ??= endOf(db);
      return end;
    },
    ends: (head: AuditHead): void => {
      end = head;
    },
    /** A concern that trader.yaml lists. */
    concern: (db: Queries, id: string): Concern | undefined => kept(concerns, id, () => concernIn(db, id)),
    strategy: (db: Queries, id: string): Strategy | undefined =>
      kept(strategies, id, () => strategyIn(db, id)),
    putConcern: (db: Queries, concern: Concern, listed: boolean): void => {
      putConcern(db, concern, listed, concerns.get(concern.id));
      if (listed) concerns.set(concern.id, concern);
      else concerns.delete(concern.id);
    },
    putStrategy: (db: Queries, strategy: Strategy): void => {
      putStrategy(db, strategy);
      strategies.set(strategy.id, strategy);
    },
    /** Empties the cache: the next reads are of the file. */
    forget: (): void => {
      end = undefined;
      concerns.clear();
      strategies.clear();
    },
  };
}
