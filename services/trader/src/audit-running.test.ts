import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bus, FORGET, leftBehind, published, watch } from '../testing/audit-watch.ts';
import { headOf, refuseSome } from '../testing/control-file.ts';
import type { ControlStore } from './control/control-store.ts';

const deadline = { timeout: 60_000 };

/** A verification that waits until it is told to go on. */
function waiting(store: ControlStore) {
  const gate = Promise.withResolvers<void>();
  const slow: ControlStore = {
    ...store,
    verifier: () => {
      const verifier = store.verifier();
      return { ...verifier, run: async (o) => gate.promise.then(() => verifier.run(o)) };
    },
  };
  return { slow, goOn: () => gate.resolve() };
}

test(
  'the head is published while the chain is still verified, and no engine may enter until then',
  deadline,
  async (t) => {
    const { url } = await bus(t);
    const control = await leftBehind(t, url);
    const store = control.open();
    const { slow, goOn } = waiting(store);
    const { audit } = watch(t, slow, url);
    await refuseSome(store, 3);
    assert.equal(await audit.heads?.flush(20_000), true);
    assert.deepEqual(await published(url), headOf(store));
    assert.deepEqual([audit.state().state, audit.state().mayEnter], ['unknown', false]);
    goOn();
    await audit.settle(20_000);
    assert.deepEqual([audit.state().state, audit.state().mayEnter], ['ok', true]);
  },
);

const CHANGED: [what: string, sql: string, reason: RegExp][] = [
  ['a record that was added', `UPDATE audit SET record = record || ' ' WHERE seq = 7`, /record 7/],
  [
    'a row of a table',
    "UPDATE concerns SET risk_mode = 'cautious'",
    /concerns differs at acct:xrpusd: its risk_mode/,
  ],
];

for (const [what, sql, reason] of CHANGED) {
  test(
    `${what} and is changed while the trader runs is found, and no head is published any more`,
    deadline,
    async (t) => {
      const { url } = await bus(t);
      const control = await leftBehind(t, url);
      const store = control.open();
      const { audit, log, verdicts } = watch(t, store, url, 100);
      await audit.settle(20_000);
      assert.equal(audit.state().state, 'ok');
      await refuseSome(store, 3);
      assert.equal(await audit.heads?.flush(20_000), true);
      control.tamper(sql);
      await log.saw(/the audit is broken: its head is no longer published/);
      assert.match(audit.state().detail ?? '', reason);
      assert.deepEqual([audit.state().mayEnter, verdicts.at(-1)], [false, false]);
      const before = await published(url);
      await refuseSome(store, 1);
      assert.equal(await audit.heads?.flush(20_000), false);
      assert.deepEqual(await published(url), before);
    },
  );
}

test(
  'an older file is accepted, goes on above the published head, and publishes again',
  deadline,
  async (t) => {
    const { url } = await bus(t);
    const control = await leftBehind(t, url);
    control.tamper(`DELETE FROM audit WHERE seq > 3; ${FORGET}`);
    const store = control.open();
    const { audit, verdicts } = watch(t, store, url);
    await audit.settle(20_000);
    const { finding, mayEnter } = audit.state();
    assert.deepEqual([mayEnter, finding?.published?.seq], [false, 5]);
    const accept = (id: string) => audit.accept({ caller: 'operator', reason: 'restored', finding: id });
    await assert.rejects(accept('another'), { code: 'INVALID_PARAMS', message: /something else/ });
    const head = await accept(finding?.id ?? '');
    assert.equal(head.seq, 6);
    assert.equal(await audit.heads?.flush(20_000), true);
    assert.deepEqual(await published(url), headOf(store));
    assert.deepEqual([audit.state().state, audit.state().mayEnter, verdicts.at(-1)], ['ok', true, true]);
    await assert.rejects(accept(finding?.id ?? ''), { code: 'INVALID_PARAMS', message: /nothing to accept/ });
    await audit.close();
    await store.close();

    const next = control.open();
    await refuseSome(next, 1);
    const after = watch(t, next, url);
    assert.equal(await after.audit.heads?.flush(20_000), true);
    await after.audit.settle(20_000);
    assert.equal(after.audit.state().state, 'ok');
    assert.deepEqual(await published(url), headOf(next));
  },
);

test('a changed record whose head was published is accepted at once, with that head', deadline, async (t) => {
  const { url } = await bus(t);
  const control = await leftBehind(t, url);
  const store = control.open();
  const { audit, log } = watch(t, store, url, 100);
  await refuseSome(store, 2);
  assert.equal(await audit.heads?.flush(20_000), true);
  control.tamper('UPDATE audit SET hash = upper(hash) WHERE seq = 7');
  await log.saw(/the audit is broken: its head/);
  await audit.accept({ caller: 'operator', reason: 'seen', finding: audit.state().finding?.id ?? '' });
  assert.equal(await audit.heads?.flush(20_000), true);
  assert.equal(audit.state().state, 'ok');
});
