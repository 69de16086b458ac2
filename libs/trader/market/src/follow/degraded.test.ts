import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DegradedSchema, degradations, type ExecutionFacts } from './degraded.ts';

const config = DegradedSchema.parse(undefined);
const sound: ExecutionFacts = {
  now: 100_000,
  lastBarAt: 100_000,
  intervalMs: 1_000,
  hasFeedEnded: false,
  feedErrors: 0,
  recentRejects: 0,
  consecutiveErrors: 0,
  forced: undefined,
};

describe('an execution', () => {
  it('has default thresholds, and accepts whole numbers only', () => {
    assert.deepEqual(config, {
      stale_after_bars: 3,
      max_rejects: 5,
      max_errors: 3,
      faulted_after_errors: 10,
    });
    for (const wrong of [{ max_rejects: 1.5 }, { max_errors: 0 }, { stale_after: 3 }, { max_errors: '3' }])
      assert.equal(DegradedSchema.safeParse(wrong).success, false, JSON.stringify(wrong));
  });

  for (const [what, facts, reasons] of [
    ['with nothing wrong', {}, []],
    ['whose feed is as late as it may be', { lastBarAt: 97_000 }, []],
    ['whose feed is later', { lastBarAt: 96_999 }, ['the feed is stale: no bar for more than 3 intervals']],
    [
      'whose feed has ended and is missed',
      { lastBarAt: 0, hasFeedEnded: true },
      ['the feed is stale: no bar for more than 3 intervals: it has no more bars'],
    ],
    ['whose feed has just ended', { hasFeedEnded: true }, []],
    ['whose clock was set back', { now: 1 }, ['the feed is stale: no bar for more than 3 intervals']],
    ['with as many rejects as may be', { recentRejects: 5 }, []],
    ['with more', { recentRejects: 6 }, ['more than 5 orders of the last 20 bars were rejected']],
    ['with as many errors as may be', { consecutiveErrors: 3, feedErrors: 3 }, []],
    [
      'with more',
      { consecutiveErrors: 4, feedErrors: 4 },
      ['the feed has failed more than 3 times in a row', 'more than 3 bars in a row ended in an error'],
    ],
    ['that a test degrades', { forced: 'because' }, ['because']],
  ] as const)
    it(`${what}: ${reasons.length === 0 ? 'is healthy' : 'is degraded'}`, () => {
      assert.deepEqual(degradations(config, { ...sound, ...facts }), reasons);
    });
});
