import type { BookEntry, Concern } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AuditHead } from '../control/audit-verifier.ts';
import { type ControlEvent, subjectOf } from './control-event.ts';

/** The event of an entry: of an order, or of the account (docs/events.md#trade-events). */
export function tradeEvent(options: {
  readonly concern: Concern;
  readonly entry: BookEntry;
  /** The entry as it is stored. */
  readonly record: JsonObject;
  readonly link: AuditHead;
  /** Ms since the epoch. */
  readonly at: number;
}): ControlEvent {
  const { concern, entry, record, link } = options;
  const { at: barAt, event: _event, kind: _kind, recorded_at: _recordedAt, ...rest } = record;
  return {
    subject: subjectOf('fleet.trade', concern),
    event: {
      specversion: '1.0',
      source: '/services/trader',
      type: `dev.hermes-fleet.trade.${entry.kind === 'bar' ? 'equity' : entry.event}.v1`,
      subject: entry.kind === 'order' ? entry.order.id : concern.id,
      time: new Date(options.at).toISOString(),
      datacontenttype: 'application/json',
      data: {
        concern_id: concern.id,
        entry: entry.n,
        bar_at: barAt ?? null,
        ...rest,
        audit_seq: link.seq,
        audit_hash: link.hash,
      },
    },
  };
}
