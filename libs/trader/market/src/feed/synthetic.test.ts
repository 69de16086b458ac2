import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { money } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { createSyntheticFeed, type SyntheticOptions, syntheticBar } from './synthetic.ts';

const never = new AbortController().signal;
const options = (seed: number, bps: number): SyntheticOptions => ({
  seed,
  startPrice: money('0.5'),
  volatilityBps: money(String(bps)),
  intervalMs: 5_000,
});

function walk(o: SyntheticOptions, bars: number, first = 340_000_000): Bar[] {
  const walked: Bar[] = [];
  for (let i = 0; i < bars; i += 1)
    walked.push(syntheticBar(o, (first + i) * o.intervalMs, walked.at(-1)?.close ?? o.startPrice));
  return walked;
}

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const volatility = fc.integer({ min: 0, max: 1_000 });

describe('a synthetic walk', () => {
  it('depends on the seed alone', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 1_000 }), (seed, bps) => {
        assert.deepEqual(walk(options(seed, bps), 20), walk(options(seed, bps), 20));
        assert.notDeepEqual(walk(options(seed, bps), 20), walk(options((seed + 1) % 2 ** 32, bps), 20));
      }),
      { numRuns: 30 },
    );
  });

  it('keeps every price above 0, and open and close between low and high', () => {
    fc.assert(
      fc.property(seeds, volatility, (seed, bps) => {
        for (const { open, high, low, close, volume } of walk(options(seed, bps), 200)) {
          assert.ok(low.gt(0) && volume.gt(0));
          assert.ok(low.lte(open) && low.lte(close) && high.gte(open) && high.gte(close));
        }
      }),
      { numRuns: 30 },
    );
  });

  it('matches its volatility, and rises as often as it falls', () => {
    const closes = walk(options(7, 20), 4_000).map(({ close }) => Math.log(close.toNumber()));
    const steps = closes.slice(1).map((close, i) => close - (closes[i] ?? 0));
    const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length;
    const deviation = Math.sqrt(steps.reduce((sum, step) => sum + step * step, 0) / steps.length);
    assert.ok(Math.abs(deviation - 0.002) < 0.0002, `the deviation is ${deviation}`);
    assert.ok(Math.abs(mean) < 0.0002, `the mean is ${mean}`);
  });

  it('is constant without volatility', () => {
    for (const bar of walk(options(1, 0), 5))
      assert.deepEqual([bar.open, bar.high, bar.low, bar.close].map(String), Array(4).fill('0.5'));
  });

  it('is the same on every machine', () => {
    const bars = walk(options(42, 20), 3);
    assert.deepEqual(
      bars.map(({ open, high, low, close, volume }) => [open, high, low, close, volume].map(String)),
      [
        ['0.5', '0.50001479', '0.49890899', '0.49927849', '22705'],
        ['0.49927849', '0.49950751', '0.49859658', '0.4990364', '40654'],
        ['0.4990364', '0.49932308', '0.49876019', '0.49895393', '15504'],
      ],
    );
  });
});

describe('a synthetic feed', () => {
  it('returns the current bar at once, and the next one at the next multiple of its interval', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    clock.advance(1_234);
    const feed = createSyntheticFeed(options(3, 20), clock);
    const first = await feed.next(undefined, never);
    assert.equal(first?.at, clock.now() - 1_234);
    const second = feed.next(first, never);
    await clock.asleep(1);
    clock.advance(5_000 - 1_234 - 1);
    await clock.asleep(1);
    clock.advance(1);
    assert.equal((await second)?.at, clock.now());
    assert.equal((await second)?.open.toString(), first?.close.toString());
  });

  it('returns the same bar when asked again', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createSyntheticFeed(options(3, 20), clock);
    assert.deepEqual(await feed.next(undefined, never), await feed.next(undefined, never));
  });

  it('waits for a clock that went back a little', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createSyntheticFeed(options(3, 20), clock);
    const first = await feed.next(undefined, never);
    clock.set(-30_000);
    const second = feed.next(first, never);
    await clock.asleep(1);
    clock.set(30_000);
    clock.advance(5_000);
    assert.equal((await second)?.at, clock.now());
  });

  it('does not wait until a time that a clock that ran ahead had shown, also when it is corrected during the wait', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createSyntheticFeed(options(3, 20), clock);
    const ahead = await feed.next(undefined, never);
    const waiting = feed.next(ahead, never);
    await clock.asleep(1);
    clock.set(-3_600_000);
    const other = feed.next(ahead, never);
    assert.equal((await other)?.at, clock.now());
    assert.equal((await other)?.open.toString(), ahead?.close.toString());
    clock.advance(5_000);
    assert.equal((await waiting)?.at, clock.now());
  });

  it('makes no bars for the time in which nobody asked', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createSyntheticFeed(options(3, 20), clock);
    const first = await feed.next(undefined, never);
    clock.advance(3_600_000);
    const second = await feed.next(first, never);
    assert.equal(second?.at, clock.now());
    assert.equal(second?.open.toString(), first?.close.toString());
  });

  it('rejects with the reason of a signal that aborts the wait', async () => {
    const clock = manualClock(Date.parse('2026-04-16T20:15:00Z'));
    const feed = createSyntheticFeed(options(3, 20), clock);
    const stop = new AbortController();
    const first = await feed.next(undefined, stop.signal);
    const second = feed.next(first, stop.signal);
    await clock.asleep(1);
    stop.abort(new Error('enough'));
    await assert.rejects(second, /enough/);
    await assert.rejects(feed.next(first, stop.signal), /enough/);
  });
});
