import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { newTask, openTestLedger } from '../testing/harness.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TEN_YEARS_MS = 3_650 * DAY_MS;
/** The period that retention keeps. */
const KEPT_MS = 30 * DAY_MS;
const entry: TokenEntry = {
  kind: 'own',
  inputTokens: 10,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'metered',
  model: 'm',
};

/** A ledger, its clock, and what it does at a time. The clock begins on 2026-01-01. */
function opened(t: TestContext) {
  const { ledger: first, reopen, clock } = openTestLedger(t);
  let ledger = first;
  const task = ledger.accept(newTask());
  const prune = () => ledger.prune(clock.now() - KEPT_MS, 10);
  return {
    clock,
    prune,
    book: async () => ledger.tokens.add((await task).task.id, entry),
    restart: async () => {
      ledger = await reopen();
    },
    /** Runs on, as a member does that prunes every hour. */
    runFor: async (hours: number) => {
      for (let hour = 0; hour < hours; hour += 1) {
        clock.advance(HOUR_MS);
        await prune();
      }
    },
    tokensOn: (day: string) => ledger.figures.spentOn(day).reduce((sum, { tokens }) => sum + tokens, 0),
    latest: () => ledger.figures.latestDay(),
  };
}

test('after the clock was set back, tokens count for the latest day with tokens, also after a restart', async (t) => {
  const { clock, book, restart, tokensOn, latest } = opened(t);
  assert.equal(latest(), undefined);
  await book();
  clock.advance(DAY_MS);
  await book();
  clock.set(-DAY_MS);
  await book();
  await restart();
  assert.equal(latest(), '2026-01-02');
  await book();
  assert.deepEqual(['2026-01-01', '2026-01-02'].map(tokensOn), [10, 30]);
  clock.advance(2 * DAY_MS);
  await book();
  assert.deepEqual([latest(), tokensOn('2026-01-03')], ['2026-01-03', 10]);
});

test('days of a clock that was ahead are given up after 24 hours of running, counted over restarts', async (t) => {
  const { clock, book, prune, restart, runFor, tokensOn, latest } = opened(t);
  await book();
  clock.set(TEN_YEARS_MS);
  await book();
  const ahead = latest() ?? '';
  assert.match(ahead, /^2035-/);
  clock.set(-TEN_YEARS_MS);
  await prune();
  await runFor(20);
  await restart();
  await prune();
  await runFor(3);
  await book();
  assert.deepEqual([latest(), tokensOn(ahead)], [ahead, 20]);
  await runFor(1);
  assert.deepEqual([latest(), tokensOn(ahead)], ['2026-01-01', 0]);
  await book();
  assert.equal(latest(), '2026-01-02');
});

test('a clock that is set moves no day on: only running does, and only while the clock is behind', async (t) => {
  const { clock, book, prune, runFor, latest } = opened(t);
  clock.set(9 * DAY_MS);
  await book();
  for (const days of [-5, 1, 1, -2, 1]) {
    clock.set(days * DAY_MS);
    await prune();
  }
  assert.equal(latest(), '2026-01-10');
  await runFor(23);
  clock.set(9 * DAY_MS);
  await runFor(5);
  clock.set(-9 * DAY_MS);
  await prune();
  await runFor(20);
  assert.equal(latest(), '2026-01-10');
});

test('a clock that is ahead does not remove the latest day with tokens', async (t) => {
  const { clock, book, prune, tokensOn } = opened(t);
  await book();
  clock.advance(DAY_MS);
  await book();
  clock.set(TEN_YEARS_MS);
  await prune();
  assert.deepEqual(['2026-01-01', '2026-01-02'].map(tokensOn), [0, 10]);
});
