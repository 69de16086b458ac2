import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgetHead } from '@hermes-fleet/events';
import { recordingLog } from '@hermes-fleet/events/testing';
import { bus, connection, FORGET, leftBehind, published, watch } from '../testing/audit-watch.ts';
import { CONCERN, controlFile, headOf, refuseSome } from '../testing/control-file.ts';
import type { ControlStore } from './control/control-store.ts';

const deadline = { timeout: 60_000 };
test('an intact audit has its head published, and the next start continues from it', deadline, async (t) => {
  const { url } = await bus(t);
  const control = await leftBehind(t, url);
  const store = control.open();
  await refuseSome(store, 1);
  const { audit, verdicts, log } = watch(t, store, url);
  assert.equal(await audit.heads?.flush(20_000), true);
  await audit.settle(10_000);
  assert.deepEqual([audit.state().state, audit.state().detail], ['ok', undefined]);
  assert.ok(verdicts.length > 0 && verdicts.every(Boolean));
  await refuseSome(store, 3);
  assert.equal(store.head().seq, 9);
  assert.equal(await audit.heads?.flush(20_000), true);
  assert.deepEqual(await published(url), headOf(store));
  assert.deepEqual(
    log.entries.filter(({ level }) => level === 'error'),
    [],
  );
});

const BROKEN: [what: string, sql: string, reason: RegExp][] = [
  [
    'a byte that was changed',
    `UPDATE audit SET record = replace(record, 'refused 1', 'refused 9')`,
    /record 3/,
  ],
  ['a record that was removed', 'DELETE FROM audit WHERE seq = 2', /record 2/],
  ['a tail that was cut off', 'DELETE FROM audit WHERE seq > 3', /record 4/],
  [
    'a tail that was cut off so that the file does not show it',
    `DELETE FROM audit WHERE seq > 3; ${FORGET}`,
    /NATS holds the head of record 5, but the audit ends with record 3: its tail was cut off/,
  ],
];

for (const [what, sql, reason] of BROKEN) {
  test(`${what} is detected at the start, and the last published head stays`, deadline, async (t) => {
    const { url } = await bus(t);
    const control = await leftBehind(t, url);
    const before = await published(url);
    control.tamper(sql);
    const store = control.open();
    const { audit, verdicts, log } = watch(t, store, url);
    await log.saw(/the audit is broken: its head is no longer published/);
    await refuseSome(store, 3);
    assert.equal(await audit.heads?.flush(20_000), false);
    assert.equal(audit.state().state, 'broken');
    assert.match(audit.state().detail ?? '', reason);
    assert.ok(verdicts.length > 0 && !verdicts.includes(true), verdicts.join());
    assert.deepEqual(await published(url), before);
  });
}

test('another file, even one with as many records, is not the published audit', deadline, async (t) => {
  const { url } = await bus(t);
  await leftBehind(t, url);
  const store = controlFile(t, recordingLog()).open();
  await store.seed([], [CONCERN]);
  await refuseSome(store, 6);
  const { audit, log } = watch(t, store, url);
  await log.saw(/its head is no longer published/);
  assert.match(audit.state().detail ?? '', /of another file .* of record 5, .* another record there/);
});

test('a restored file has its head published once the old head is deleted', deadline, async (t) => {
  const { url } = await bus(t);
  const control = await leftBehind(t, url);
  control.tamper(`DELETE FROM audit WHERE seq > 3; ${FORGET}`);
  const store = control.open();
  const before = watch(t, store, url);
  await before.log.saw(/its head is no longer published/);
  await before.audit.close();
  const found: unknown[] = [];
  const outcome = await forgetHead({
    connection: connection(url),
    service: 'trader',
    timeoutMs: 10_000,
    onFound: ({ head }) => void found.push(head?.seq),
  });
  assert.deepEqual([outcome, found], ['forgotten', [5]]);
  const { audit, verdicts } = watch(t, store, url);
  assert.equal(await audit.heads?.flush(20_000), true);
  assert.deepEqual(await published(url), headOf(store));
  assert.deepEqual([audit.state().state, verdicts.includes(false)], ['ok', false]);
});

test('without a broker the chain is still verified', deadline, async (t) => {
  const control = controlFile(t, recordingLog());
  const store = control.open();
  await store.seed([], [CONCERN]);
  await refuseSome(store, 2);
  const whole = watch(t, store, undefined);
  await whole.log.saw(/the audit is intact/);
  await whole.audit.settle(10_000);
  assert.deepEqual([whole.audit.state().state, whole.audit.state().detail], ['ok', undefined]);
  assert.deepEqual(whole.verdicts, [true]);
  assert.equal(whole.audit.heads, undefined);
  await whole.audit.close();
  await store.close();
  control.tamper('DELETE FROM audit WHERE seq = 2');
  const broken = watch(t, control.open(), undefined);
  const entry = await broken.log.saw(/the audit is broken/);
  assert.equal(entry.level, 'error');
  assert.deepEqual(broken.verdicts, [false]);
  assert.match(broken.audit.state().detail ?? '', /^record 2 of the audit/);
});

test('while the bus is unreachable the state is unknown, with the reason', deadline, async (t) => {
  const server = await bus(t);
  const control = await leftBehind(t, server.url);
  await server.kill();
  const { audit, log, verdicts } = watch(t, control.open(), server.url);
  await log.saw(/the audit is intact/);
  await log.saw(/interrupted/);
  assert.equal(audit.state().state, 'unknown');
  assert.match(audit.state().detail ?? '', /published head is not read yet: .*ECONNREFUSED/);
  assert.deepEqual(verdicts, []);
  await server.restart();
  assert.equal(await audit.heads?.flush(30_000), true);
  assert.equal(audit.state().state, 'ok');
});

test('an unreadable chain is not reported as broken, and is retried', deadline, async (t) => {
  const { url } = await bus(t);
  const store = controlFile(t, recordingLog()).open();
  await store.seed([], [CONCERN]);
  let failures = 2;
  const failing: ControlStore = {
    ...store,
    verifier: () => {
      const verifier = store.verifier();
      return {
        ...verifier,
        run: async (o) => {
          failures -= 1;
          if (failures >= 0) throw new Error('disk I/O error');
          return verifier.run(o);
        },
      };
    },
  };
  const { audit, log } = watch(t, failing, url, 20);
  await log.saw(/cannot be verified/);
  assert.deepEqual([audit.state().state, audit.state().mayEnter], ['unknown', false]);
  assert.match(audit.state().detail ?? '', /disk I\/O error/);
  await log.saw(/the audit is intact/);
  assert.equal(await audit.heads?.flush(30_000), true);
  assert.deepEqual([audit.state().state, audit.state().mayEnter], ['ok', true]);
});

test('it closes during the verification', deadline, async (t) => {
  const store = controlFile(t, recordingLog()).open();
  await store.seed([], [CONCERN]);
  await refuseSome(store, 50);
  const { audit, log } = watch(t, store, undefined);
  await audit.close();
  assert.equal(audit.state().state, 'unknown');
  assert.deepEqual(log.entries, []);
});
