import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readinessOf } from './readiness.ts';

const CONCERN = 'a:x';
const up = { state: () => ({ connected: true, lastError: undefined }) };
const away = { state: () => ({ connected: false, lastError: 'connection refused' }) };
const fine: Parameters<typeof readinessOf>[0] = {
  ledger: { problem: () => undefined },
  store: { problem: () => undefined },
  relays: [up, up],
  audit: { state: 'ok', detail: undefined },
  runtime: { health: () => ({ degraded: false, reasons: [] }) },
  books: { problem: () => undefined },
  concerns: [CONCERN],
  stopping: false,
};
const full = { problem: () => 'disk full' };

const TABLE: readonly [
  what: string,
  change: Partial<typeof fine>,
  ready: boolean,
  part: string,
  state: string,
  detail?: RegExp,
][] = [
  ['a ledger that takes nothing', { ledger: full }, false, 'ledger', 'down', /disk full/],
  ['a control store that takes nothing', { store: full }, false, 'control_store', 'down', /disk full/],
  ['a broker that is away', { relays: [up, away] }, true, 'nats', 'degraded', /connection refused/],
  [
    'degraded execution',
    { runtime: { health: () => ({ degraded: true, reasons: ['the feed is stale', 'rejects'] }) } },
    ...([true, `concern:${CONCERN}`, 'degraded', /the feed is stale; rejects/] as const),
  ],
  [
    'a broken audit',
    { audit: { state: 'broken', detail: 'record 7 of the audit: changed' } },
    ...([true, 'audit', 'degraded', /record 7/] as const),
  ],
  [
    'an audit that is being walked',
    { audit: { state: 'unknown', detail: 'its chain is being verified' } },
    ...([true, 'audit', 'ok', /being verified/] as const),
  ],
  [
    'books that are not read yet',
    { books: { problem: () => 'they are being read' } },
    ...([true, 'books', 'degraded', /being read/] as const),
  ],
  ['a stop', { stopping: true }, false, 'trader', 'down', /stopping/],
];

test('the trader is ready while it can write, and reports everything else that is missing', async (t) => {
  const ok = { state: 'ok' };
  assert.deepEqual(readinessOf(fine), {
    ready: true,
    dependencies: { ledger: ok, control_store: ok, audit: ok, nats: ok, [`concern:${CONCERN}`]: ok },
  });
  for (const [what, change, ready, part, state, detail] of TABLE)
    await t.test(what, () => {
      const readiness = readinessOf({ ...fine, ...change });
      assert.equal(readiness.ready, ready);
      const { state: found, detail: actual = '' } = readiness.dependencies[part] ?? {};
      assert.equal(found, state);
      assert.match(actual, detail ?? /^$/);
      const others = Object.entries(readiness.dependencies).filter(([name]) => name !== part);
      assert.ok(others.every(([, each]) => each.state === 'ok'));
    });
  assert.ok(!('nats' in readinessOf({ ...fine, relays: [undefined, undefined] }).dependencies));
});
