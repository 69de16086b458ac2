import type { BookEntry, OrderEntry } from '@hermes-fleet/market';
import { CONCERN, GRID, type TestStore } from './harness.ts';

const AT = Date.parse('2026-04-16T20:15:00Z');

export const order = (n: number, rev: number, event: OrderEntry['event'] = 'placed'): BookEntry => ({
  kind: 'order',
  n,
  at: AT,
  rev,
  event,
  order: {
    id: `order-${n}`,
    strategyId: GRID,
    side: 'buy',
    kind: 'limit',
    purpose: 'entry',
    quantity: '2',
    limitPrice: '1.9',
    state: 'open',
    placedAt: new Date(AT).toISOString(),
  },
});

export const bar = (n: number, rev = 0): BookEntry => ({
  kind: 'bar',
  n,
  at: AT,
  rev,
  strategyId: GRID,
  close: '2',
  cash: '10',
  position: '5',
  realizedPnl: '0',
  feesPaid: '0',
  equity: '20',
});

/** Saves the engine of CONCERN with these entries and a snapshot of this number. */
export async function save(
  { store, clock }: Pick<TestStore, 'store' | 'clock'>,
  entries: readonly BookEntry[],
  n = 0,
): Promise<void> {
  const saved = store.saveEngine(CONCERN.id, { n }, entries);
  clock.advance(20);
  await saved;
}
