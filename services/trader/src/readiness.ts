import type { OutboxPublisher } from '@hermes-fleet/events';
import { busState, type DependencyState, readinessFrom, storeState } from '@hermes-fleet/gateway/member';
import type { Ledger } from '@hermes-fleet/ledger';
import type { Runtime } from '@hermes-fleet/market';
import type { Readiness } from '@hermes-fleet/service';
import type { AuditState } from './audit-heads.ts';
import type { BookKeeper } from './books/book-keeper.ts';
import type { ControlStore } from './control/control-store.ts';

/**
 * The trader is down if one of its stores is unavailable or an engine is not saved. It is degraded if the broker is
 * unreachable, execution is degraded or the audit is broken (docs/trader.md#degraded).
 */
export function readinessOf(options: {
  readonly ledger: Pick<Ledger, 'problem'>;
  readonly store: Pick<ControlStore, 'problem'>;
  /** Undefined entries have no broker. */
  readonly relays: readonly (Pick<OutboxPublisher, 'state'> | undefined)[];
  readonly audit: Pick<AuditState, 'state' | 'detail'>;
  readonly runtime: Pick<Runtime, 'health'>;
  readonly books: Pick<BookKeeper, 'problem'>;
  readonly concerns: readonly string[];
  readonly stopping: boolean;
}): Readiness {
  const dependencies: Record<string, DependencyState> = {
    ledger: storeState(options.ledger.problem()),
    control_store: storeState(options.store.problem()),
    audit: auditState(options.audit),
  };
  const unread = options.books.problem();
  if (unread !== undefined) dependencies.books = { state: 'degraded', detail: unread };
  const buses = options.relays.flatMap((relay) => (relay ? [busState(relay.state())] : []));
  const nats = buses.find(({ state }) => state !== 'ok') ?? buses[0];
  if (nats) dependencies.nats = nats;
  for (const concern of options.concerns) {
    dependencies[`concern:${concern}`] = concernState(options.runtime.health(concern));
  }
  if (options.stopping) dependencies.trader = { state: 'down', detail: 'stopping' };
  return readinessFrom(dependencies);
}

function concernState({ degraded, reasons, unsaved }: ReturnType<Runtime['health']>): DependencyState {
  if (unsaved !== undefined) return { state: 'down', detail: `its state cannot be saved: ${unsaved}` };
  return degraded ? { state: 'degraded', detail: reasons.join('; ') } : { state: 'ok' };
}

function auditState({ state, detail }: Pick<AuditState, 'state' | 'detail'>): DependencyState {
  return { state: state === 'broken' ? 'degraded' : 'ok', ...(detail === undefined ? {} : { detail }) };
}
