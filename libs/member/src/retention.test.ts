import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { type Clock, silentLog, systemIds } from '@hermes-fleet/protocol';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { startRetention } from './retention.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function ledgerAt(t: TestContext, clock: Clock): Ledger {
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const file = join(dir, 'l.db');
  const ledger = openLedger({ file, profile: 'neo', clock, ids: systemIds, log: silentLog });
  return ledger;
}

async function finished(ledger: Ledger, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => systemIds.uuid());
  await Promise.all(
    ids.map(async (id) => {
      const work = { fingerprint: 'f', message: {}, dispatch: {} };
      await ledger.accept({ id, contextId: 'c', caller: 'switch', key: id, ...work });
      await ledger.append(id, { type: 'done', data: {} }, { result: {} });
    }),
  );
}

async function publishAll(ledger: Ledger): Promise<void> {
  const newest = ledger.outbox.read(0, 10_000).at(-1);
  if (newest) await ledger.outbox.advance(newest.seq);
}

const left = (ledger: Ledger): number => ledger.list({ pageSize: 1 }).totalSize;

test('finished tasks are removed after their time, at start and every hour, unless their events are unpublished', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  await finished(ledger, 450);
  await publishAll(ledger);
  clock.advance(30 * DAY_MS + 1);
  await finished(ledger, 3);

  const retention = startRetention({ ledger, finishedTasksDays: 30, clock, log: silentLog });
  await clock.asleep(1);
  assert.equal(left(ledger), 3, 'more than one batch is old');

  clock.advance(30 * DAY_MS);
  await clock.asleep(1);
  assert.equal(left(ledger), 3, 'nothing of theirs is published');
  await publishAll(ledger);
  clock.advance(HOUR_MS);
  await clock.asleep(1);
  assert.equal(left(ledger), 0);
  await retention.close();
});

test('a ledger that cannot be written is retried after an hour', async () => {
  const clock = manualClock();
  const answers = [() => Promise.reject(new Error('disk full')), async () => 0];
  const prune = async (): Promise<number> => (answers.shift() ?? assert.fail('pruned too often'))();
  const retention = startRetention({ ledger: { prune }, finishedTasksDays: 1, clock, log: silentLog });
  await clock.asleep(1);
  clock.advance(HOUR_MS);
  await clock.asleep(1);
  assert.equal(answers.length, 0);
  await retention.close();
});
