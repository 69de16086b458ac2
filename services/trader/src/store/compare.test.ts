import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { bar, order, save } from '../../testing/store/book-entries.ts';
import {
  applyOf,
  CONCERN,
  decided,
  failedFrom,
  GRID,
  openSeeded,
  payload,
  SEED,
  STRATEGIES,
  switchTo,
  type TestStore,
  TREND,
} from '../../testing/store/harness.ts';
import { TAMPERED } from '../../testing/store/tampered-rows.ts';
import type { ControlStore } from '../control/control-store.ts';
import { gap } from './walk.ts';

/** Decisions of every kind: applied, with each outcome and without one, tried again, rejected, noop, and copies. */
async function openUsed(t: TestContext): Promise<TestStore> {
  const test = await openSeeded(t);
  const { store } = test;
  const pause = await decided(store, payload({ decision_id: 'pause' }));
  void store.settle(applyOf(pause), pause.verdict.response);
  await decided(store, payload({ decision_id: 'pause' }));
  await decided(store, payload({ decision_id: 'noop' }));
  await decided(store, switchTo('none', { decision_id: 'rejected' }));
  for (const _ of [1, 2]) {
    const before = store.concern(CONCERN.id) ?? assert.fail();
    const failed = await decided(store, switchTo(TREND, { decision_id: 'failed', reason: 'twice' }));
    await store.compensate(applyOf(failed), before, failedFrom(failed.verdict.response));
  }
  await store.setStatus(TREND, 'faulted', 'a test');
  await store.seed([...STRATEGIES, ...SEED[0].slice(3)], [CONCERN]);
  await decided(store, payload({ decision_id: 'open', action: 'resume' }));
  await save(test, [bar(1), order(2, 0)], 1);
  await save(test, [bar(3), bar(5)], 2);
  assert.deepEqual(await store.verify(), { ok: true, records: store.head().seq, head: store.head() });
  return test;
}

const run = (sql: string) => (db: DatabaseSync) => void assert.ok(db.prepare(sql).run().changes > 0);

const accept = (store: ControlStore) =>
  store.verifier().accept({ caller: 'operator', reason: 'a test', broken: gap(1, 1, 'a test') });

for (const [name, sql, table, row, reason] of TAMPERED) {
  test(`${name} is found in the table of ${table}, until it is accepted`, deadline, async (t) => {
    const test = await openUsed(t);
    test.tamper(run(sql));
    const { ok, broken } = await test.store.verify();
    assert.deepEqual([ok, broken?.table, broken?.row], [false, table, row], JSON.stringify(broken));
    assert.match(broken?.reason ?? '', reason);

    const store = await test.reopen();
    const head = await accept(store);
    const after = await store.verify();
    assert.deepEqual([after.ok, after.broken], [true, undefined]);
    assert.deepEqual(
      after.accepted?.map(({ seq, caller }) => [seq, caller]),
      [[head.seq, 'operator']],
    );
    await decided(store, payload({ decision_id: `later-${row}`, action: 'resume' }));
    assert.equal((await store.verify()).ok, true);
    // What was accepted is what stood there, and nothing else.
    test.tamper((db) => void db.exec(`UPDATE ${table} SET ${OTHER_CHANGES[table]}`));
    assert.equal((await (await test.reopen()).verify()).broken?.table, table);
  });
}

test('a revision that was accepted does not change any more', deadline, async (t) => {
  const test = await openUsed(t);
  test.tamper(run(`UPDATE decisions SET rev = 99 WHERE decision_id = 'pause'`));
  const store = await test.reopen();
  await accept(store);
  assert.equal((await store.verify()).ok, true);
  test.tamper(run(`UPDATE decisions SET rev = 98 WHERE decision_id = 'pause'`));
  assert.equal((await (await test.reopen()).verify()).broken?.table, 'decisions');
});

const OTHER_CHANGES: Readonly<Record<string, string>> = {
  concerns: 'rev = rev + 1',
  strategies: `name = name || 'x'`,
  decisions: `caller = caller || 'x'`,
  engines: `snapshot = snapshot || ' '`,
  books: `entry = entry || ' '`,
};

test('an engine that is gone is found', deadline, async (t) => {
  const test = await openUsed(t);
  test.tamper(run('DELETE FROM engines'));
  const { broken } = await (await test.reopen()).verify();
  assert.deepEqual([broken?.table, broken?.row], ['engines', CONCERN.id]);
});

test('an engine that saves again does not hide that its snapshot was changed', deadline, async (t) => {
  const test = await openUsed(t);
  test.tamper(run(`UPDATE engines SET snapshot = '{"n":1000002}'`));
  const store = await test.reopen();
  await save({ store, clock: test.clock }, [bar(6)], 1_000_003);
  const { broken } = await store.verify();
  assert.deepEqual([broken?.table, broken?.row], ['engines', CONCERN.id]);
});

test('a start that puts a strategy right does not hide that it was changed', deadline, async (t) => {
  const test = await openUsed(t);
  test.tamper(run(`UPDATE strategies SET params = '{"levels":50}' WHERE id = '${GRID}'`));
  const store = await test.reopen();
  await store.seed([...STRATEGIES, ...SEED[0].slice(3)], [CONCERN]);
  assert.deepEqual(store.strategy(GRID)?.params, { levels: 5 });
  const { broken } = await store.verify();
  assert.deepEqual([broken?.table, broken?.row], ['strategies', GRID]);
  // The seed has the present parameters, so that the file by itself is in order again.
  assert.equal((await (await test.reopen()).verify()).ok, true);
});

test(
  'open decisions go on after an acceptance: one is settled, one fails and is tried again',
  deadline,
  async (t) => {
    const { store, tamper, reopen } = await openSeeded(t);
    const settled = await decided(store, payload({ decision_id: 'settled' }));
    const before = store.concern(CONCERN.id) ?? assert.fail();
    const failed = await decided(store, payload({ decision_id: 'failed', action: 'resume' }));
    tamper(run(`UPDATE strategies SET name = 'x' WHERE id = '${GRID}'`));
    const again = await reopen();
    await accept(again);
    await again.compensate(applyOf(failed), before, failedFrom(failed.verdict.response));
    void again.settle(applyOf(settled), settled.verdict.response);
    await again.setStatus(TREND, 'faulted', 'writes what waits');
    assert.deepEqual((await again.verify()).broken, undefined);
    await decided(again, payload({ decision_id: 'failed', action: 'resume' }));
    assert.deepEqual((await again.verify()).broken, undefined);
  },
);

test('a verifier compares again what was added, and each row of the small tables', deadline, async (t) => {
  const { store, tamper } = await openUsed(t);
  const verifier = store.verifier();
  assert.equal((await verifier.run()).ok, true);
  await decided(store, payload({ decision_id: 'added', action: 'resume' }));
  assert.equal((await verifier.run()).head.seq, store.head().seq);
  tamper(run(`UPDATE concerns SET risk_mode = 'halted' WHERE id = '${CONCERN.id}'`));
  assert.equal((await verifier.run()).broken?.row, CONCERN.id);
});
