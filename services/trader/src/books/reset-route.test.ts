import assert from 'node:assert/strict';
import { test } from 'node:test';
import { market } from '@hermes-fleet/market/testing';
import { openBooks } from '../../testing/books/books-app.ts';
import { CONCERN } from '../../testing/running.ts';

const deadline = { timeout: 60_000 };
const OTHER_BALANCES = market({ balances: { quote: '500', base: '0' } });

test(
  'changed balances hold the entries, degrade execution and are logged, until the account is reset',
  deadline,
  async (t) => {
    const run = await openBooks(t);
    await run.bar(100);
    await run.bar(98.9);
    assert.ok(run.view().openOrders.length > 0);
    await run.restart({ isReconciled: true, market: OTHER_BALANCES });
    const { degraded, reasons } = run.runtime.health(CONCERN.id);
    assert.equal(degraded, true);
    assert.match(reasons.join('; '), /put them back, or run fleet trader account reset --concern/);
    assert.ok(
      run.log.messages.some((message) => message.includes('the balances in trader.yaml are not those')),
    );
    assert.deepEqual(
      (await run.bar(98.9)).openOrders.filter(({ purpose }) => purpose === 'entry'),
      [],
    );
    const position = run.view().position.quantity;

    const answer = await run.post('/books/reset', { concern_id: CONCERN.id, reason: 'a new start' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body, {
      concern_id: CONCERN.id,
      before: { equity: (answer.body as { before: { equity: string } }).before.equity, position },
      after: { equity: '500', position: '0' },
    });
    assert.equal(run.runtime.health(CONCERN.id).degraded, false);
    const records = run.store.audit(0, 1_000).map(({ record }) => record);
    const { at: _at, ...record } = records.find(({ kind }) => kind === 'reset') ?? assert.fail();
    assert.deepEqual(record, {
      kind: 'reset',
      caller: 'operator',
      concern_id: CONCERN.id,
      reason: 'a new start',
      before: (answer.body as { before: object }).before,
    });
    const last = run.store.books.after(CONCERN.id, 0, 1_000).at(-1)?.entry;
    assert.deepEqual(
      [last?.['kind'], last?.['event'], last?.['cash'], last?.['position']],
      ['account', 'reset', '500', '0'],
    );
    const view = await run.bar(100);
    assert.ok(view.openOrders.some(({ purpose }) => purpose === 'entry'));
    assert.equal(view.equity.realizedPnl, '0');
    assert.equal((await run.store.verify()).ok, true);
  },
);

test(
  'the old balances put back, or an account that no bar has opened, need no reset',
  deadline,
  async (t) => {
    const run = await openBooks(t);
    await run.restart({ isReconciled: true, market: OTHER_BALANCES });
    assert.equal(run.runtime.health(CONCERN.id).degraded, false);
    await run.bar(100);
    assert.equal(run.view().equity.total, '500');
    await run.restart();
    assert.equal(run.runtime.health(CONCERN.id).degraded, true);
    await run.restart({ isReconciled: true, market: OTHER_BALANCES });
    assert.equal(run.runtime.health(CONCERN.id).degraded, false);
  },
);

test('a reset needs the scope for override, the account and a reason', deadline, async (t) => {
  const run = await openBooks(t);
  await run.bar(100);
  const before = run.view();
  const body = { concern_id: CONCERN.id, reason: 'x' };
  assert.equal((await run.post('/books/reset', body, 'reader')).status, 403);
  for (const wrong of [
    { ...body, concern_id: 'a:b' },
    { concern_id: CONCERN.id },
    { ...body, reason: '' },
    { ...body, x: 1 },
  ])
    assert.equal((await run.post('/books/reset', wrong)).status, 400, JSON.stringify(wrong));
  assert.equal((await run.post('/books/reset', body, 'foreigner')).status, 400);
  assert.deepEqual(run.view(), before);
  assert.ok(run.store.audit(0, 1_000).every(({ record }) => record['kind'] !== 'reset'));
});
