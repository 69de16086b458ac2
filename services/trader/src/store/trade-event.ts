import type { Concern, OrderEntry } from '@hermes-fleet/paper';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AuditHead } from '../control/audit-verifier.ts';
import { type ControlEvent, subjectOf } from './control-event.ts';

/** The event of an order (docs/events.md#trade-events). */
export function tradeEvent(options: {
  readonly concern: Concern;
  readonly entry: OrderEntry;
  /** The entry as it is stored. */
  readonly record: JsonObject;
  readonly link: AuditHead;
  /** Ms since the epoch. */
  readonly at: number;
}): ControlEvent {
  const { concern, entry, record, link } = options;
  const { at: barAt, decision_id, order, realized_pnl } = record;
  return {
    subject: subjectOf('fleet.trade', concern),
    event: {
      specversion: '1.0',
      source: '/services/trader',
      type: `dev.hermes-fleet.trade.${entry.event}.v1`,
      subject: entry.order.id,
      time: new Date(options.at).toISOString(),
      datacontenttype: 'application/json',
      data: {
        concern_id: concern.id,
        entry: entry.n,
        bar_at: barAt ?? null,
        decision_id: decision_id ?? null,
        order: order ?? null,
        ...(realized_pnl !== undefined && { realized_pnl }),
        audit_seq: link.seq,
        audit_hash: link.hash,
      },
    },
  };
}
