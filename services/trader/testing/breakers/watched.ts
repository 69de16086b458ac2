import type { TestContext } from 'node:test';
import { money } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemIds } from '@hermes-fleet/protocol/ports';
import type { SeenBar } from '../../src/books/analysis.ts';
import { createBreakers } from '../../src/breakers/breakers.ts';
import type { AccountLimits, ConcernLimits } from '../../src/config/breaker-schema.ts';
import { CONCERN } from '../control/decisions.ts';
import { BITCOIN, openDecisionService, type TestDecisionService } from '../control/harness.ts';

export const NOON = Date.parse('2026-04-16T12:00:00Z');
export const SECOND = 1_000;

export interface Watched extends TestDecisionService {
  readonly trips: string[];
  /** Concerns whose bars cannot be saved. */
  readonly unsaved: Set<string>;
  /** A bar under the decision in force, with this change of the equity; live by default. */
  bar(
    o: Partial<Omit<SeenBar, 'change'>> & { change?: string; of?: string; isLive?: boolean },
  ): Promise<void>;
  start(): void;
  /** Decisions of breakers. */
  decided(): JsonObject[];
}

export async function watched(
  t: TestContext,
  limits: ConcernLimits,
  accounts: Readonly<Record<string, AccountLimits>> = {},
  o: Parameters<typeof openDecisionService>[1] = {},
): Promise<Watched> {
  const service = await openDecisionService(t, o);
  const { store, decisions, clock, log } = service;
  const trips: string[] = [];
  const unsaved = new Set<string>();
  const breakers = createBreakers({
    concerns: [
      { id: CONCERN.id, accountId: CONCERN.accountId, breakers: limits },
      { id: BITCOIN.id, accountId: BITCOIN.accountId, breakers: {} },
    ],
    accounts,
    store,
    decide: decisions.decide,
    clock,
    ids: systemIds,
    log,
    isUnsaved: () => unsaved.has(CONCERN.id),
    onTrip: (concernId, breaker) => trips.push(`${concernId} ${breaker}`),
  });
  t.after(() => breakers.close());
  const equities = new Map<string, ReturnType<typeof money>>();
  let at = NOON;
  return {
    ...service,
    trips,
    unsaved,
    start: breakers.start,
    bar: async ({ change = '0', of = CONCERN.id, isLive = true, ...o }) => {
      at = o.at ?? at + SECOND;
      const before = equities.get(of);
      const equity = (before ?? money('1000')).plus(money(change));
      equities.set(of, equity);
      const common = {
        at,
        recordedAt: clock.now(),
        decisionId: store.decisionInForce(of) ?? null,
        strategyId: 'grid',
        placed: 0,
      };
      const seen = { ...common, isFirst: before === undefined, ...o, equity, change: money(change) };
      breakers.bar(of, seen, isLive);
      await service.pass(0);
    },
    decided: () =>
      service
        .audit()
        .map(({ record }) => record)
        .filter(({ caller }) => caller === 'breaker'),
  };
}

export const limit = (text: string, action: 'pause' | 'reduce_only' | 'halted' = 'pause') => ({
  limit: text,
  action,
});
