import type { Concern, Strategy } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { AuditHead } from '../control/audit-verifier.ts';
import { appendRecord, numberAfter } from './audit.ts';
import type { ControlEvent } from './control-event.ts';
import type { TransactionCache } from './transaction-cache.ts';

/** The kinds of records (docs/trader.md#audit). */
export type AuditKind =
  | 'seed'
  | 'attempt'
  | 'outcome'
  | 'status'
  | 'hold'
  | 'refusals'
  | 'accept'
  | 'books'
  | 'reset';

/** A record of the audit without its time (docs/trader.md#audit). It costs least with its names in order. */
export type UntimedRecord = JsonObject & { readonly kind: AuditKind };

export type ControlTransaction = ReturnType<typeof createControlTransaction>;

/** A transaction that may append to the audit and the outbox. */
export function createControlTransaction(db: Queries, now: number, cache: TransactionCache) {
  let head: AuditHead | undefined;
  let hasNews = false;
  return {
    db,
    /** Ms since the epoch. */
    now,
    /** A concern that trader.yaml lists, with the writes of this transaction. */
    concern: (id: string): Concern | undefined => cache.concern(db, id),
    strategy: (id: string): Strategy | undefined => cache.strategy(db, id),
    putConcern: (concern: Concern, listed: boolean): void => cache.putConcern(db, concern, listed),
    putStrategy: (strategy: Strategy): void => cache.putStrategy(db, strategy),
    append: (record: UntimedRecord): AuditHead => {
      head = appendRecord(db, cache.end(db), { at: new Date(now).toISOString(), ...record });
      cache.ends(head);
      return head;
    },
    /** Lets the next record follow the last one under a higher number. */
    continueAt: (end: AuditHead): void => {
      numberAfter(db, end.seq);
      cache.ends(end);
    },
    emit: ({ subject, event }: ControlEvent): void => {
      db.run('INSERT INTO outbox (at, subject, event) VALUES (?, ?, ?)', now, subject, JSON.stringify(event));
      hasNews = true;
    },
    /** The newest record that the transaction appended. */
    get head() {
      return head;
    },
    /** True if the transaction added an event. */
    get hasEvents() {
      return hasNews;
    },
  };
}
