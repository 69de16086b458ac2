import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createFeed, type Feed, FeedSchema } from '@hermes-fleet/market';
import { type ManualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { type Running, running } from '../testing/running.ts';

const deadline = { timeout: 60_000 };
const SYNTHETIC = FeedSchema.parse({ kind: 'synthetic', seed: 3, start_price: '100', interval_s: 1 });
const CSV = FeedSchema.parse({ kind: 'csv', file: 'bars.csv', interval_s: 1 });

/** A folder with bars of the year 2020, far before the clock of the tests. */
function oldBars(t: TestContext): string {
  const dir = tempDir(t);
  const rows = [1, 2, 3].map((minute) => `2020-01-01T00:0${minute}:00Z,100,101,99,100,1`);
  writeFileSync(join(dir, 'bars.csv'), `time,open,high,low,close,volume\n${rows.join('\n')}\n`);
  return dir;
}

/** Lets a second pass for each bar, until there are so many more. */
async function moreBars({ clock, view, change }: Running, count: number): Promise<void> {
  const wanted = view().execution.bars + count;
  while (view().execution.bars < wanted) {
    const changed = change();
    clock.advance(1_000);
    await Promise.race([changed, clock.asleep(1)]);
  }
}

test('a CSV feed with old bars follows a synthetic one', deadline, async (t) => {
  const dir = oldBars(t);
  let config = SYNTHETIC;
  const feed = (clock: ManualClock): Feed => createFeed(config, clock, dir);
  const run = await running(t, { feed });
  await moreBars(run, 5);
  const before = run.view();
  config = CSV;
  await run.restart();
  await moreBars(run, 3);
  const after = run.view();
  assert.equal(after.lastBar?.at, '2020-01-01T00:03:00.000Z');
  assert.equal(after.execution.bars, before.execution.bars + 3);
  assert.match(run.log.messages.join('\n'), /the feed changed to csv bars\.csv/);
  const canceled = after.recentOrders.filter(({ reason }) => reason === 'the feed changed to csv bars.csv');
  assert.equal(canceled.length, before.openOrders.length);
});

test('bars go on when a clock that ran ahead is corrected', deadline, async (t) => {
  const run = await running(t, { feed: (clock) => createFeed(SYNTHETIC, clock) });
  await moreBars(run, 3);
  const right = run.clock.now();
  run.clock.set(3_600_000);
  await moreBars(run, 2);
  assert.ok(Date.parse(run.view().lastBar?.at ?? '') > right + 3_500_000);
  run.clock.set(-3_600_000);
  await moreBars(run, 2);
  assert.ok(Date.parse(run.view().lastBar?.at ?? '') <= run.clock.now());
  assert.match(run.log.messages.join('\n'), /the clock was set back/);
  assert.equal(run.view().execution.consecutiveErrors, 0);
  // The same after a restart with the wrong time on disk.
  run.clock.set(7_200_000);
  await moreBars(run, 1);
  run.clock.set(-7_200_000);
  await run.restart();
  await moreBars(run, 2);
  assert.ok(Date.parse(run.view().lastBar?.at ?? '') <= run.clock.now());
});
