import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarketSchema, readMarket } from './market.ts';

const WHOLE = {
  balances: { quote: '10000', base: '2.5' },
  fees_bps: '12.5',
  slippage_bps: '0',
  limits: { max_order: '100', max_position: '1000', max_open_orders: 8, min_order: '1' },
  risk: { halted: 'keep_protective' },
  steps: { price: '0.0001', quantity: '0.1' },
};

test('a market is parsed exactly', () => {
  const read = readMarket(MarketSchema.parse(WHOLE));
  assert.deepEqual(JSON.parse(JSON.stringify(read)), {
    balances: { quote: '10000', base: '2.5' },
    feesBps: '12.5',
    slippageBps: '0',
    limits: { maxOrder: '100', maxPosition: '1000', maxOpenOrders: 8, minOrder: '1' },
    halted: 'keep_protective',
    steps: { price: '0.0001', quantity: '0.1' },
  });
});

test('balances and limits are required, the rest has defaults', () => {
  const { max_open_orders: _, ...limits } = WHOLE.limits;
  const least = MarketSchema.parse({ balances: { quote: '1' }, limits });
  assert.deepEqual(
    [
      least.balances.base,
      least.fees_bps,
      least.slippage_bps,
      least.limits.max_open_orders,
      least.risk.halted,
    ],
    ['0', '10', '5', 20, 'cancel_all'],
  );
  assert.deepEqual(
    MarketSchema.safeParse({}).error?.issues.map(({ path }) => path.join('.')),
    ['balances', 'limits'],
  );
});

const WRONG: [name: string, change: object, path: string][] = [
  ['a float', { balances: { quote: 10000 } }, 'balances.quote'],
  ['a negative amount', { balances: { quote: '-1' } }, 'balances.quote'],
  ['an exponent', { balances: { quote: '1e9' } }, 'balances.quote'],
  ['what is no number', { limits: { ...WHOLE.limits, min_order: 'abc' } }, 'limits.min_order'],
  ['a step of 0', { steps: { price: '0.000' } }, 'steps.price'],
  ['a fee above 10 %', { fees_bps: '1000.1' }, 'fees_bps'],
  [
    'a smallest order above the largest',
    { limits: { ...WHOLE.limits, min_order: '101' } },
    'limits.min_order',
  ],
  ['no open orders', { limits: { ...WHOLE.limits, max_open_orders: 0 } }, 'limits.max_open_orders'],
  ['a key that it does not have', { slippage: '1' }, ''],
];

for (const [name, change, path] of WRONG) {
  test(`a market with ${name} is refused at its path`, () => {
    const { error } = MarketSchema.safeParse({ ...WHOLE, ...change });
    assert.deepEqual(
      error?.issues.map((issue) => issue.path.join('.')),
      [path],
    );
  });
}
