import type { JsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { AuditHead } from '../control/control-store.ts';
import { appendRecord } from './audit.ts';
import type { ControlEvent } from './control-event.ts';

/** A transaction that may append to the audit and the outbox. */
export interface ControlTransaction {
  readonly db: Queries;
  /** Ms since the epoch. */
  readonly now: number;
  append(kind: 'seed' | 'attempt' | 'outcome' | 'status', record: JsonObject): AuditHead;
  emit(event: ControlEvent): void;
  /** The newest record that the transaction appended. */
  readonly head: AuditHead | undefined;
  /** True if the transaction added an event. */
  readonly hasEvents: boolean;
}

export function createControlTransaction(db: Queries, now: number): ControlTransaction {
  let head: AuditHead | undefined;
  let hasNews = false;
  return {
    db,
    now,
    append: (kind, record) => {
      head = appendRecord(db, { kind, at: new Date(now).toISOString(), ...record });
      return head;
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
