import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { encodeControlResponse } from '@hermes-fleet/protocol/control';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, recordingLog, START } from '@hermes-fleet/protocol/testing';
import {
  applyOf,
  attemptOf,
  CONCERN,
  decided,
  GRID,
  judging,
  kindsOf,
  openSeeded,
  openTestStore,
  payload,
  switchTo,
  TREND,
  wantedBy,
} from '../../testing/store/harness.ts';
import type { AuditHead } from '../control/audit-verifier.ts';
import { openControlStore } from './sqlite-store.ts';

test('an acknowledged decision has its state, answer, audit record and event', deadline, async (t) => {
  const { store, file } = await openSeeded(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const wish = switchTo(TREND, { decision_id: 'd1', risk_mode: 'cautious' });
  const { verdict, auditSeq } = await decided(store, wish, { onBehalfOf: 'neo', traceparent });
  assert.equal(verdict.response.status, 'applied');
  const after = { ...CONCERN, activeStrategyId: TREND, riskMode: 'cautious', rev: 1 };
  assert.deepEqual(store.concern(CONCERN.id), after);
  assert.partialDeepStrictEqual(store.decisions(CONCERN.id, 10), [
    { decisionId: 'd1', caller: 'operator', decidedAt: START, response: verdict.response },
  ]);
  const [attempt] = store.audit(1, 10);
  const response = encodeControlResponse(verdict.response);
  assert.deepEqual(attempt?.record, {
    kind: 'attempt',
    at: '2026-01-01T00:00:00.000Z',
    received_at: '2025-12-31T23:59:59.995Z',
    door: 'jsonrpc',
    caller: 'operator',
    on_behalf_of: 'neo',
    text: JSON.stringify(wish),
    traceparent,
    status: 'applied',
    response,
    change: {
      concern_id: CONCERN.id,
      rev: 1,
      active_strategy_id: TREND,
      run_state: 'running',
      risk_mode: 'cautious',
    },
  });
  assert.deepEqual(store.head(), { seq: auditSeq, hash: attempt?.hash });
  assert.equal(store.head().seq, 2);
  assert.equal(store.outbox.read(0, 10).length, 1);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('committed data outlives the process', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  await decided(store, payload());
  const before = [store.concerns(), store.strategies(), store.openApplies(), store.head()];
  const again = await reopen();
  assert.deepEqual([again.concerns(), again.strategies(), again.openApplies(), again.head()], before);
  assert.equal(again.concern(CONCERN.id)?.runState, 'paused');
  assert.equal(again.id, store.id);
});

test('two decisions of one batch see each other', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const rivals = [TREND, GRID].map((target) =>
    decided(store, switchTo(target, { expected_active_strategy_id: GRID, risk_mode: 'cautious' })),
  );
  const [first, second] = await Promise.all(rivals);
  assert.equal(first?.verdict.response.status, 'applied');
  assert.deepEqual(
    second?.verdict.response.errors.map(({ code }) => code),
    ['expected_active_mismatch'],
  );
  assert.equal(store.concern(CONCERN.id)?.rev, 1);
});

test(
  'a hundred concurrent copies: one applied, ninety-nine noop, a hundred attempts',
  deadline,
  async (t) => {
    const { store } = await openSeeded(t);
    const wish = switchTo(TREND);
    const all = await Promise.all(Array.from({ length: 100 }, () => decided(store, wish)));
    const count = (status: string) => all.filter(({ verdict }) => verdict.response.status === status).length;
    assert.deepEqual([count('applied'), count('noop')], [1, 99]);
    assert.equal(kindsOf(store).filter((kind) => kind.startsWith('attempt')).length, 100);
    assert.equal(store.outbox.read(0, 1000).length, 1);
    assert.equal(store.openApplies().length, 1);
  },
);

test('busy writes nothing', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const head = store.head();
  const text = JSON.stringify(payload());
  assert.equal(await store.decide(attemptOf(text), wantedBy(text), () => 'busy'), 'busy');
  assert.deepEqual(store.head(), head);
  assert.deepEqual(store.decisions(CONCERN.id, 10), []);
  assert.deepEqual(store.outbox.backlog(), { count: 0, oldestAgeMs: 0 });
});

test('a judgment that throws writes nothing and affects no others', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const text = JSON.stringify(payload());
  const failing = store.decide(attemptOf(text), wantedBy(text), () => {
    throw new Error('a bug');
  });
  const other = decided(store, payload());
  await assert.rejects(failing, { code: 'INTERNAL' });
  await other;
  assert.deepEqual(kindsOf(store), ['seed', 'attempt applied']);
  assert.equal((await store.verify()).ok, true);
});

test('a verdict that does not follow the committed state is not written', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const text = JSON.stringify(payload());
  for (const next of [
    { ...CONCERN, rev: 2 },
    { ...CONCERN, id: 'another', rev: 1 },
  ]) {
    const judge = (facts: Parameters<ReturnType<typeof judging>>[0]) => ({ ...judging(text)(facts), next });
    await assert.rejects(store.decide(attemptOf(text), wantedBy(text), judge), { code: 'INTERNAL' });
  }
  assert.deepEqual(kindsOf(store), ['seed']);
});

test('a dry run is audited and consumes nothing', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const wish = switchTo(TREND);
  const { verdict } = await decided(store, { ...wish, dry_run: true });
  assert.equal(verdict.response.result.wouldStatus, 'applied');
  assert.deepEqual(store.decisions(CONCERN.id, 10), []);
  assert.equal(store.concern(CONCERN.id)?.rev, 0);
  assert.equal(store.outbox.read(0, 10).length, 1);
  assert.equal((await decided(store, wish)).verdict.response.status, 'applied');
});

test('a refusal is in the audit alone, even without a text', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const { response } = (await decided(store, payload({ concern_id: 'nowhere' }))).verdict;
  const events = store.outbox.read(0, 10).length;
  await store.refuse(attemptOf(null, { transport: 'mcp' }), response);
  const record = store.audit(2, 10)[0]?.record;
  assert.deepEqual([record?.['text'], record?.['door'], record?.['status']], [null, 'mcp', 'rejected']);
  assert.equal(store.outbox.read(0, 10).length, events);
});

test('close writes deferred writes', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const written = await decided(store, switchTo(TREND));
  const waiting = [
    store.settle(applyOf(written), written.verdict.response),
    ...[1, 2, 3].map((n) => store.saveEngine(CONCERN.id, { n }, [])),
    decided(store, payload()),
  ];
  const again = await reopen();
  await Promise.all(waiting);
  assert.equal(again.openApplies().length, 1);
  assert.deepEqual(again.loadEngine(CONCERN.id), { n: 3 });
  assert.equal(again.concern(CONCERN.id)?.runState, 'paused');
  await assert.rejects(store.saveEngine(CONCERN.id, {}, []), { code: 'SHUTTING_DOWN' });
  await assert.rejects(decided(store, payload()), { code: 'SHUTTING_DOWN' });
  assert.throws(() => store.concerns(), { code: 'SHUTTING_DOWN' });
});

test('the newest engine snapshot is stored, as it was when it was passed', deadline, async (t) => {
  const { store, clock } = await openSeeded(t);
  assert.equal(store.loadEngine(CONCERN.id), undefined);
  const snapshot = { bars: 1 };
  const saved = store.saveEngine(CONCERN.id, snapshot, []);
  snapshot.bars = 2;
  clock.advance(20);
  await saved;
  assert.deepEqual(store.loadEngine(CONCERN.id), { bars: 1 });
  const unknown = store.saveEngine('nowhere', {}, []);
  clock.advance(20);
  await assert.rejects(unknown, { code: 'INTERNAL' });
});

test('a listener gets each new head after its commit, and its errors are logged', deadline, async (t) => {
  const { store, log } = await openSeeded(t);
  const heads: AuditHead[] = [];
  using _failing = store.onHead(() => {
    throw new Error('metrics');
  });
  const watching = store.onHead((head) => {
    assert.ok(store.head().seq >= head.seq);
    heads.push(head);
  });
  await Promise.all([decided(store, payload()), decided(store, payload())]);
  watching[Symbol.dispose]();
  await decided(store, payload());
  assert.deepEqual(
    heads.map(({ seq }) => seq),
    [2, 3],
  );
  assert.equal(heads[1]?.hash, store.audit(2, 1)[0]?.hash);
  assert.equal(log.messages.filter((message) => message.startsWith('error')).length, 3);
});

test('a file of another service and a foreign database are refused', deadline, async (t) => {
  const { store, file } = openTestStore(t);
  await store.close();
  const o = { clock: manualClock(), ids: systemIds, log: recordingLog() };
  assert.throws(() => openControlStore({ ...o, file, service: 'neo' }), { code: 'CONFIG_INVALID' });
  const foreign = `${file}.foreign`;
  using db = new DatabaseSync(foreign);
  db.exec('CREATE TABLE a (b)');
  assert.throws(() => openControlStore({ ...o, file: foreign, service: 'trader' }), {
    code: 'CONFIG_INVALID',
  });
});

test('an empty file has the head 0 with sixty-four zeros', deadline, async (t) => {
  const { store } = openTestStore(t);
  assert.deepEqual(store.head(), { seq: 0, hash: '0'.repeat(64) });
  assert.deepEqual(await store.verify(), { ok: true, records: 0, head: store.head() });
});
