import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { announceOf, instanceOf, NOW } from '../../testing/index.ts';
import { testRegistry } from '../../testing/registry.ts';
import { seqProblem } from './announce-order.ts';

const SKEW_MS = 5 * 60_000;
const DAY_MS = 86_400_000;
const iso = (at: number): string => new Date(at).toISOString();

describe('the seq of an announce', () => {
  const STARTED = NOW - 10_000;
  const ROWS: [what: string, seq: number | undefined, startedAt: number | undefined, refused: boolean][] = [
    ['none', undefined, STARTED, false],
    ['any, without an instance', Number.MAX_SAFE_INTEGER, undefined, false],
    ['the first one', 0, NOW, false],
    ['the greatest that 10 s allow', 1_010_000, STARTED, false],
    ['a greater one', 1_010_001, STARTED, true],
    ['the greatest integer', Number.MAX_SAFE_INTEGER, STARTED, true],
    ['the greatest integer after ten years', Number.MAX_SAFE_INTEGER, NOW - 3_650 * DAY_MS, true],
    [
      'one of a worker that has announced itself each second for a year',
      31_536_000,
      NOW - 365 * DAY_MS,
      false,
    ],
    ['one of a worker whose clock is a year ahead, after eleven days', 950_400, NOW + 365 * DAY_MS, false],
    ['a greater one of a worker whose clock is ahead', 1_000_001, NOW + SKEW_MS, true],
  ];
  for (const [what, seq, startedAt, refused] of ROWS)
    it(`${refused ? 'is refused' : 'is accepted'}: ${what}`, () => {
      const instanceId = startedAt === undefined ? undefined : instanceOf(1, startedAt);
      assert.equal(seqProblem(announceOf('neo', { seq, instanceId }), NOW) !== undefined, refused);
    });

  it('that is refused changes nothing, and the reason says why', async (t) => {
    const { peers } = testRegistry(t);
    const say = (seq: number) => peers.record(announceOf('neo', { seq }), { name: 'neo' });
    assert.deepEqual(await say(5), { outcome: 'recorded' });
    assert.deepEqual(await say(Number.MAX_SAFE_INTEGER), {
      outcome: 'refused',
      reason: 'seq 9007199254740991 is too great for an instance that started 3600 s ago',
    });
    assert.equal(peers.get('neo')?.announce?.seq, 5);
    assert.deepEqual(await say(6), { outcome: 'recorded' });
  });
});

describe('the announces of one instance', () => {
  type Said = readonly [seq: number, sentAt: number | undefined];
  const ROWS: [what: string, known: Said, next: Said, outcome: string][] = [
    ['a greater seq', [1, NOW], [2, NOW], 'recorded'],
    ['a greater seq after the clock was set back', [1, NOW], [2, NOW - DAY_MS], 'recorded'],
    ['a copy', [1, NOW], [1, NOW], 'ignored'],
    ['a copy with another time', [1, NOW], [1, NOW + 1], 'ignored'],
    ['a delayed one', [2, NOW], [1, NOW - 1], 'ignored'],
    ['a delayed one of the same time', [2, NOW], [1, NOW], 'ignored'],
    ['a smaller seq that was sent later', [900_000, NOW], [1, NOW + 1], 'recorded'],
    ['a smaller seq with a time, after one without', [900_000, undefined], [1, NOW], 'recorded'],
    ['a smaller seq without a time', [2, NOW], [1, undefined], 'ignored'],
    ['a smaller seq, both without a time', [2, undefined], [1, undefined], 'ignored'],
  ];
  for (const [what, known, next, outcome] of ROWS)
    it(`have ${what} ${outcome}`, async (t) => {
      const { peers, clock } = testRegistry(t);
      clock.advance(1);
      const say = ([seq, at]: Said) =>
        peers.record(announceOf('neo', { seq, sentAt: at === undefined ? undefined : iso(at) }), {
          name: 'neo',
        });
      assert.equal((await say(known)).outcome, 'recorded');
      assert.equal((await say(next)).outcome, outcome);
    });

  it('are believed again 5 min after one from the future at the latest', async (t) => {
    const { peers, clock } = testRegistry(t);
    const say = async (seq: number, sentAt: number) =>
      (await peers.record(announceOf('neo', { seq, sentAt: iso(sentAt) }), { name: 'neo' })).outcome;
    assert.equal(await say(1, clock.now()), 'recorded');
    assert.equal(await say(999_999, Date.parse('9999-01-01')), 'recorded');
    clock.advance(SKEW_MS);
    assert.equal(await say(2, clock.now()), 'ignored');
    clock.advance(1);
    assert.equal(await say(3, clock.now()), 'recorded');
    assert.equal(await say(4, clock.now()), 'recorded');
  });

  it('are never silenced for longer, whatever one announce says, in any order of its fields', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          seq: fc.option(fc.maxSafeNat(), { nil: undefined }),
          sentAt: fc.option(fc.integer({ min: 0, max: Date.parse('9999-12-31') }).map(iso), {
            nil: undefined,
          }),
        }),
        async (forged) => {
          const { peers, clock } = testRegistry(t);
          const own = async (seq: number) =>
            (await peers.record(announceOf('neo', { seq, sentAt: iso(clock.now()) }), { name: 'neo' }))
              .outcome;
          assert.equal(await own(1), 'recorded');
          await peers.record(announceOf('neo', forged), { name: 'neo' });
          clock.advance(SKEW_MS + 1);
          assert.equal(await own(2), forged.seq === 2 ? 'ignored' : 'recorded');
          assert.equal(await own(3), 'recorded');
        },
      ),
      { numRuns: 30 },
    );
  });
});
