import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { type Clock, type Log, systemIds } from '@hermes-fleet/protocol';
import { startRetention } from './retention.ts';

const DAY_MS = 86_400_000;
const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A stopped clock whose sleepers are woken by `wake`. */
function steppedClock() {
  let now = Date.parse('2026-05-31T20:00:00Z');
  let asleep = Promise.withResolvers<() => void>();
  const clock: Clock = {
    now: () => now,
    timer: () => ({ [Symbol.dispose]: () => undefined }),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        asleep.resolve(() => {
          now += ms;
          resolve();
        });
      }),
  };
  return {
    clock,
    advance: (ms: number) => {
      now += ms;
    },
    /** Resolves when a sleep starts, with a function that advances the time. */
    async sleeping() {
      const wake = await asleep.promise;
      return () => {
        asleep = Promise.withResolvers();
        wake();
      };
    },
  };
}

function ledgerAt(t: TestContext, clock: Clock): Ledger {
  const dir = mkdtempSync(join(tmpdir(), 'retention-'));
  const ledger = openLedger({ file: join(dir, 'l.db'), profile: 'neo', clock, ids: systemIds, log: quiet });
  t.after(async () => {
    await ledger.close();
    rmSync(dir, { recursive: true, force: true });
  });
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
  const { clock, advance, sleeping } = steppedClock();
  const ledger = ledgerAt(t, clock);
  await finished(ledger, 450);
  await publishAll(ledger);
  advance(30 * DAY_MS + 1);
  await finished(ledger, 3);

  const retention = startRetention({ ledger, finishedTasksDays: 30, clock, log: quiet });
  const next = await sleeping();
  assert.equal(left(ledger), 3, 'more than one batch is old');

  advance(30 * DAY_MS);
  next();
  const afterwards = await sleeping();
  assert.equal(left(ledger), 3, 'nothing of theirs is published');
  await publishAll(ledger);
  afterwards();
  await sleeping();
  assert.equal(left(ledger), 0);
  await retention.close();
});

test('a ledger that cannot be written is retried after an hour', async () => {
  const { clock, sleeping } = steppedClock();
  const answers = [() => Promise.reject(new Error('disk full')), async () => 0];
  const prune = async (): Promise<number> => (answers.shift() ?? assert.fail('pruned too often'))();
  const retention = startRetention({ ledger: { prune }, finishedTasksDays: 1, clock, log: quiet });
  (await sleeping())();
  await sleeping();
  assert.equal(answers.length, 0);
  await retention.close();
});
