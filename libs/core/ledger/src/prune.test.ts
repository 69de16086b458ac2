import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTask, openTestLedger } from '../testing/harness.ts';
import { rowsOf } from '../testing/reading.ts';
import { groupsBefore } from './ended-counts.ts';

const HOUR_MS = 3_600_000;

test('a prune looks only at the callers and states that have ended tasks of before', async (t) => {
  const { ledger, file, clock } = openTestLedger(t);
  const end = async (caller: string, type: string): Promise<void> => {
    await ledger.accept(newTask({ caller }), [{ event: { type, data: {} } }]);
  };
  const looks = (before: number): number => rowsOf(file, (db) => groupsBefore(db, before));
  const start = clock.now();
  await end('a', 'done');
  clock.advance(HOUR_MS);
  for (const caller of ['a', 'b', 'c']) await end(caller, 'error');
  assert.deepEqual([looks(start), looks(start + 1), looks(start + HOUR_MS)], [0, 1, 1]);
  assert.equal(looks(clock.now() + 1), 4);
  await ledger.outbox.advance(ledger.outbox.read(0, 100).at(-1)?.seq ?? 0);
  assert.deepEqual(
    [
      await ledger.prune(start, 9),
      await ledger.prune(start + HOUR_MS, 9),
      await ledger.prune(clock.now() + 1, 9),
    ],
    [0, 1, 3],
  );
  assert.equal(looks(clock.now() + 1), 0);
});
