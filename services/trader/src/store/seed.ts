import type { Concern, Strategy } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import { canonical } from './canonical.ts';
import type { ControlTransaction } from './control-transaction.ts';
import { changeRecord, strategyRecord } from './rows.ts';
import { concernsIn, strategiesIn, unlistedIn } from './tables.ts';

/** Implements `ControlStore.seed`. */
export function seed(
  tx: ControlTransaction,
  strategies: readonly Strategy[],
  concerns: readonly Omit<Concern, 'rev'>[],
): void {
  const { db } = tx;
  const changed = changedStrategies(strategiesIn(db), strategies);
  for (const strategy of changed) tx.putStrategy(strategy);

  const wanted = new Set(concerns.map(({ id }) => id));
  const here = concernsIn(db);
  const kept = here.filter(({ id }) => wanted.has(id));
  const removed = here.filter(({ id }) => !wanted.has(id));
  const aside = new Map(unlistedIn(db).map((concern) => [concern.id, concern]));
  const added = concerns
    .filter(({ id }) => !kept.some((concern) => concern.id === id))
    .map((concern): Concern => aside.get(concern.id) ?? { ...concern, rev: 0 });
  for (const concern of [...kept, ...added]) assertOwn(tx, concern);
  for (const concern of added) tx.putConcern(concern, true);
  for (const concern of removed) tx.putConcern(concern, false);

  if (changed.length + added.length + removed.length === 0) return;
  tx.append({
    kind: 'seed',
    strategies: changed.map(strategyRecord),
    concerns: added.map((concern) => ({
      ...changeRecord(concern),
      account_id: concern.accountId,
      market_symbol: concern.marketSymbol,
    })),
    removed: removed.map(({ id }) => id),
  });
}

/** Sets and records a strategy's status if it differs. Throws NOT_FOUND. */
export function setStatus(
  tx: ControlTransaction,
  strategyId: string,
  status: Strategy['status'],
  reason: string,
): void {
  const strategy = tx.strategy(strategyId);
  if (strategy === undefined) throw new FleetError('NOT_FOUND', `there is no strategy ${strategyId}`);
  if (strategy.status === status) return;
  tx.putStrategy({ ...strategy, status });
  tx.append({ kind: 'status', strategy_id: strategyId, status, reason });
}

function changedStrategies(known: readonly Strategy[], listed: readonly Strategy[]): Strategy[] {
  const texts = new Map(known.map((strategy) => [strategy.id, canonical(strategyRecord(strategy))]));
  const ids = new Set(listed.map(({ id }) => id));
  return [
    ...listed.filter((strategy) => texts.get(strategy.id) !== canonical(strategyRecord(strategy))),
    ...known
      .filter(({ id, status }) => !ids.has(id) && status !== 'disabled')
      .map((strategy): Strategy => ({ ...strategy, status: 'disabled' })),
  ];
}

function assertOwn(tx: ControlTransaction, { id, accountId, marketSymbol, activeStrategyId }: Concern): void {
  if (activeStrategyId === null) return;
  const active = tx.strategy(activeStrategyId);
  if (active?.accountId === accountId && active.marketSymbol === marketSymbol) return;
  const what = active ? `is of ${active.accountId}:${active.marketSymbol}` : 'does not exist';
  throw new FleetError(
    'CONFIG_INVALID',
    `strategy ${activeStrategyId} is active in concern ${id}, but ${what}: restore it, and switch to another strategy first`,
  );
}
