import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { deadline, manualClock, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createStore, openConnections } from '@hermes-fleet/store';
import {
  applyOf,
  attemptOf,
  CONCERN,
  decided,
  failedFrom,
  payload,
  SEED,
  switchTo,
  TREND,
} from '../../testing/store/harness.ts';
import type { AuditHead } from '../control/audit-verifier.ts';
import type { ControlStore } from '../control/control-store.ts';
import { replay } from './replay.ts';
import { CONTROL } from './schema.ts';
import { createControlStore } from './sqlite-store.ts';

/** A store whose writing connection a test can break. */
async function openFragile(t: TestContext) {
  const dir = tempDir(t, { closeFirst: () => store.close() });
  const clock = manualClock();
  const log = recordingLog();
  const connections = openConnections(join(dir, 'control.db'), CONTROL, () => 'store-1');
  const store = createControlStore(createStore({ schema: CONTROL, clock, log }, connections), { clock, log });
  await store.seed(...SEED);
  const { writer } = connections;
  const limit = (pages: number) => writer.exec(`PRAGMA max_page_count = ${pages}`);
  return { store, clock, writer, fill: () => limit(1), repair: () => limit(1_000_000) };
}

/** Everything that a decision can write. */
const stateOf = (store: ControlStore) => [
  ...[store.concerns(), store.strategies(), store.openApplies(), store.decisions(CONCERN.id, 1000)],
  ...[store.head(), store.outbox.backlog().count, store.loadEngine(CONCERN.id)],
];

const big = (o = {}) => switchTo(TREND, { reason: 'x'.repeat(1_000), ...o });

test(
  'on a full disk a write is unavailable and has no effect, and the same id succeeds after repair',
  deadline,
  async (t) => {
    const { store, fill, repair, clock } = await openFragile(t);
    const open = await decided(store, payload({ decision_id: 'paused' }));
    const before = stateOf(store);
    const heads: AuditHead[] = [];
    store.onHead((head) => heads.push(head));
    fill();
    const snapshot = { blob: 'x'.repeat(100_000) };
    const saved = store.saveEngine(CONCERN.id, snapshot, []);
    const wish = big({ decision_id: 'd1' });
    const all = [decided(store, wish), saved, decided(store, big())];
    all.push(store.settle(applyOf(open), open.verdict.response), store.setStatus(TREND, 'faulted', 'a test'));
    for (const outcome of await Promise.allSettled(all)) {
      assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'STORE_UNAVAILABLE');
    }
    assert.match(store.problem() ?? '', /^the control store cannot write: database or disk is full/);
    assert.deepEqual(stateOf(store), before);
    assert.deepEqual(heads, []);
    assert.equal((await store.verify()).ok, true);

    repair();
    clock.advance(5000);
    assert.equal(store.problem(), undefined);
    assert.equal((await decided(store, wish)).verdict.response.status, 'applied');
    assert.equal(store.concern(CONCERN.id)?.activeStrategyId, TREND);
    const report = await store.verify();
    assert.deepEqual([report.ok, report.records, heads.length], [true, 3, 1]);
  },
);

test('a compensation that could not be written can be retried', deadline, async (t) => {
  const { store, fill, repair } = await openFragile(t);
  const before = store.concern(CONCERN.id);
  assert.ok(before);
  const written = await decided(store, big());
  const failed = failedFrom(written.verdict.response);
  const errors = [{ code: 'activation_failed' as const, message: 'x'.repeat(100_000) }];
  fill();
  const taken = () => store.compensate(applyOf(written), before, { ...failed, errors });
  await assert.rejects(taken(), { code: 'STORE_UNAVAILABLE' });
  assert.equal(store.concern(CONCERN.id)?.activeStrategyId, TREND);
  assert.equal(store.openApplies().length, 1);
  repair();
  assert.equal((await taken()).rev, 2);
  assert.deepEqual(replay(store.audit(0, 100)).get(CONCERN.id), { ...before, rev: 2 });
});

/** Makes the connection fail at one statement with an SQLite error code. */
function failAt(t: TestContext, writer: DatabaseSync, statement: string, errcode: number): () => void {
  const failIf = (sql: string): void => {
    if (sql.startsWith(statement)) throw Object.assign(new Error('injected'), { errcode });
  };
  const { exec } = writer;
  const { run } = StatementSync.prototype;
  const mocks = [
    t.mock.method(writer, 'exec', (sql: string) => {
      failIf(sql);
      exec.call(writer, sql);
    }),
    t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync, ...params: SQLInputValue[]) {
      failIf(this.sourceSQL);
      return Reflect.apply(run, this, params);
    }),
  ];
  return () => {
    for (const { mock } of mocks) mock.restore();
  };
}

for (const [statement, errcode] of [
  ['BEGIN IMMEDIATE', 5],
  ['INSERT INTO audit', 13],
  ['COMMIT', 10],
] as const) {
  test(`a failure at ${statement} has no effect`, deadline, async (t) => {
    const { store, writer } = await openFragile(t);
    const { response } = (await decided(store, payload({ dry_run: true }))).verdict;
    const before = stateOf(store);
    const mend = failAt(t, writer, statement, errcode);
    const text = JSON.stringify(big({ decision_id: 'd1' }));
    const refused = store.refuse(attemptOf(text), response);
    const outcomes = await Promise.allSettled([decided(store, payload(), { text }), refused]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
      ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    );
    assert.deepEqual(stateOf(store), before);
    mend();
    assert.equal((await decided(store, payload(), { text })).verdict.response.status, 'applied');
    assert.equal(store.problem(), undefined);
    assert.equal((await store.verify()).records, 3);
    assert.equal(store.decisions(CONCERN.id, 1)[0]?.decisionId, 'd1');
  });
}
