import type { Concern, Strategy } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { AuditHead } from '../control/audit-verifier.ts';
import { appendRecord, numberAfter } from './audit.ts';
import type { ControlEvent } from './control-event.ts';
import type { TransactionCache } from './transaction-cache.ts';

/** A record of the audit without its time (docs/trader.md#audit). It costs least with its names in order. */
export type UntimedRecord = JsonObject & {
  readonly kind:
    | 'seed'
    | 'attempt'
    | 'outcome'
    | 'status'
    | 'hold'
    | 'refusals'
    | 'accept'
    | 'books'
    | 'reset';
};

/** A transaction that may append to the audit and the outbox. */
export interface ControlTransaction {
  readonly db: Queries;
  /** Ms since the epoch. */
  readonly now: number;
  /** A concern that trader.yaml lists, with the writes of this transaction. */
  concern(id: string): Concern | undefined;
  strategy(id: string): Strategy | undefined;
  putConcern(concern: Concern, listed: boolean): void;
  putStrategy(strategy: Strategy): void;
  append(record: UntimedRecord): AuditHead;
  /** Lets the next record follow the last one under a higher number. */
  continueAt(end: AuditHead): void;
  emit(event: ControlEvent): void;
  /** The newest record that the transaction appended. */
  readonly head: AuditHead | undefined;
  /** True if the transaction added an event. */
  readonly hasEvents: boolean;
}

export function createControlTransaction(
  db: Queries,
  now: number,
  cache: TransactionCache,
): ControlTransaction {
  let head: AuditHead | undefined;
  let hasNews = false;
  return {
    db,
    now,
    concern: (id) => cache.concern(db, id),
    strategy: (id) => cache.strategy(db, id),
    putConcern: (concern, listed) => cache.putConcern(db, concern, listed),
    putStrategy: (strategy) => cache.putStrategy(db, strategy),
    append: (record) => {
      head = appendRecord(db, cache.end(db), { at: new Date(now).toISOString(), ...record });
      cache.ends(head);
      return head;
    },
    continueAt: (end) => {
      numberAfter(db, end.seq);
      cache.ends(end);
    },
    emit: ({ subject, event }) => {
      db.run('INSERT INTO outbox (at, subject, event) VALUES (?, ?, ?)', now, subject, JSON.stringify(event));
      hasNews = true;
    },
    get head() {
      return head;
    },
    get hasEvents() {
      return hasNews;
    },
  };
}
