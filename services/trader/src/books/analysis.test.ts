import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { createAnalysis, type SeenBar } from './analysis.ts';

const DAY = 86_400_000;
const iso = (day: number): string => new Date(day * DAY).toISOString();

interface Day {
  readonly equity: string;
  readonly strategy?: string | null;
  readonly decision?: string | null;
  readonly position?: string;
}

const bar = (day: number, { equity, strategy = 'a', decision = null, position = '0' }: Day): JsonObject => ({
  kind: 'bar',
  at: iso(day),
  recorded_at: iso(day),
  strategy_id: strategy,
  decision_id: decision,
  close: '1',
  cash: '0',
  position,
  realized_pnl: '0',
  fees_paid: '0',
  equity,
});
const account = (event: string, cash: string, day = 0): JsonObject => ({
  kind: 'account',
  event,
  at: iso(day),
  decision_id: null,
  cash,
  basis: '0',
  position: '0',
  realized_pnl: '0',
  fees_paid: '0',
});
const fill = (o: {
  side: 'buy' | 'sell';
  quantity: string;
  fee: string;
  pnl?: string;
  by?: string | null;
}) => ({
  kind: 'order',
  event: 'filled',
  at: iso(1),
  decision_id: o.by ?? null,
  ...(o.pnl === undefined ? {} : { realized_pnl: o.pnl }),
  order: { side: o.side, quantity: o.quantity, fee: o.fee, strategy_id: 'a' },
});

function analysisOf(...entries: JsonObject[]) {
  const analysis = createAnalysis(DAY);
  const bars: SeenBar[] = [];
  entries.forEach((entry, at) => {
    const ended = analysis.add({ n: at + 1, entry });
    if (ended !== undefined) bars.push(ended);
  });
  return { analysis, bars };
}

test('each strategy and each decision has its own changes of the equity alone', () => {
  const { analysis } = analysisOf(
    account('opened', '100'),
    bar(1, { equity: '110' }),
    bar(2, { equity: '99', strategy: 'b', decision: 'd1' }),
    bar(3, { equity: '88', strategy: 'b', decision: 'd1' }),
    bar(4, { equity: '98', strategy: 'a', decision: 'd2' }),
  );
  const parts = analysis
    .strategies()
    .map(({ id, figures }) => [id, figures.openingEquity.toFixed(), figures.equity.toFixed(), figures.bars]);
  // Strategy a gained 10 before and 10 after what b lost.
  assert.deepEqual(parts, [
    ['a', '100', '120', 2],
    ['b', '110', '88', 2],
  ]);
  const decisions = analysis
    .decisions()
    .map(({ id, strategyId, figures }) => [
      id,
      strategyId,
      figures.openingEquity.toFixed(),
      figures.equity.toFixed(),
    ]);
  assert.deepEqual(decisions, [
    ['d2', 'a', '88', '98'],
    ['d1', 'b', '110', '88'],
    [null, 'a', '100', '110'],
  ]);
  const total = analysis.total();
  assert.deepEqual([total.openingEquity.toFixed(), total.equity.toFixed(), total.bars], ['100', '98', 4]);
  assert.ok(Math.abs(total.maxDrawdown - 0.2) < 1e-12);
});

test('a fill counts for the decision that placed its order, and a win is what is left after fees', () => {
  const { analysis } = analysisOf(
    account('opened', '100'),
    fill({ side: 'buy', quantity: '10', fee: '1', by: 'd1' }),
    bar(1, { equity: '99', decision: 'd1', position: '10' }),
    fill({ side: 'sell', quantity: '5', fee: '1', pnl: '1.4', by: 'd1' }),
    fill({ side: 'sell', quantity: '5', fee: '1', pnl: '4', by: 'd1' }),
    bar(2, { equity: '102', decision: 'd2' }),
  );
  const [d2, d1] = analysis.decisions();
  assert.deepEqual([d1?.figures.fills, d1?.figures.sales, d1?.figures.wins], [3, 2, 1]);
  assert.equal(d1?.figures.realized.toFixed(), '5.4');
  assert.equal(d2?.figures.fills, 0);
  assert.deepEqual([analysis.total().wins, analysis.total().fees.toFixed()], [1, '3']);
});

test('new balances begin anew; an account that was carried over is measured from its first bar', () => {
  const { analysis } = analysisOf(
    account('carried', '70'),
    bar(1, { equity: '90' }),
    bar(2, { equity: '99' }),
  );
  assert.equal(analysis.total().openingEquity.toFixed(), '90');
  assert.ok(Math.abs((analysis.total().return ?? 0) - 0.1) < 1e-12);
  analysis.add({ n: 4, entry: account('reset', '500', 3) });
  analysis.add({ n: 5, entry: bar(4, { equity: '600', strategy: 'b' }) });
  assert.equal(analysis.since(), 3 * DAY);
  assert.equal(analysis.total().openingEquity.toFixed(), '500');
  assert.deepEqual(
    analysis.strategies().map(({ id }) => id),
    ['b'],
  );
});

test('a bar tells its change and the orders that were placed since the one before', () => {
  const placed = { ...fill({ side: 'buy', quantity: '1', fee: '0' }), event: 'placed' };
  const { bars } = analysisOf(
    account('opened', '100'),
    placed,
    placed,
    bar(1, { equity: '90', decision: 'd' }),
    bar(2, { equity: '95' }),
  );
  assert.deepEqual(
    bars.map(({ at, decisionId, change, placed: count }) => [at, decisionId, change.toFixed(), count]),
    [
      [DAY, 'd', '-10', 2],
      [2 * DAY, null, '5', 0],
    ],
  );
});

test('the last hundred decisions are measured', () => {
  const { analysis } = analysisOf(
    account('opened', '100'),
    ...Array.from({ length: 150 }, (_, at) => bar(at, { equity: '100', decision: `d${at}` })),
  );
  const ids = analysis.decisions().map(({ id }) => id);
  assert.deepEqual([ids.length, ids[0], ids.at(-1)], [100, 'd149', 'd50']);
});
