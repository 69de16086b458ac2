import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestOutbox } from '../../testing/outbox.ts';
import { newestOf, resumePoint, type StoredMessage } from './resume.ts';

const LEDGER = '0197a000-0000-7000-8000-000000000001';
const HOUR_MS = 60 * 60 * 1000;
const NOW = 10 * HOUR_MS;

const stored = (seq: number | string, ageMs: number, ledger = LEDGER): StoredMessage => ({
  id: `neo:${ledger}:${seq}`,
  storedAt: NOW - ageMs,
  streamSeq: 1,
});

type Case = [
  name: string,
  last: StoredMessage | undefined,
  lastLikeFirst: StoredMessage | undefined,
  expected: { after: number; foreignId?: string },
];

const OTHER = '0197a000-0000-7000-8000-000000000002';

/** Ten events, 1 to 4 acknowledged: the cursor is 4, the first pending event is 5. */
const CASES: Case[] = [
  ['nothing is stored', undefined, undefined, { after: 4 }],
  ['the last stored one is the cursor', stored(4, 0), undefined, { after: 4 }],
  ['the last stored one lies before the cursor', stored(2, 3 * HOUR_MS), undefined, { after: 4 }],
  ['stored lately, acks lost: the server drops the copies', stored(8, 1000), stored(5, 1000), { after: 4 }],
  [
    'stored long ago, acknowledgements lost: resumes after the stored events',
    stored(8, 3 * HOUR_MS),
    stored(5, 3 * HOUR_MS),
    { after: 8 },
  ],
  ['everything is stored', stored(10, 3 * HOUR_MS), stored(5, 3 * HOUR_MS), { after: 10 }],
  ['the first was refused, later ones not', stored(8, 3 * HOUR_MS), undefined, { after: 4 }],
  [
    'the first was refused, an older event with its subject is stored',
    stored(8, 3 * HOUR_MS),
    stored(2, 3 * HOUR_MS),
    { after: 4 },
  ],
  ['a clock that is behind the server', stored(8, -HOUR_MS), stored(5, -HOUR_MS), { after: 4 }],
  ['another ledger', stored(8, 3 * HOUR_MS, OTHER), stored(5, 3 * HOUR_MS, OTHER), { after: 4 }],
  [
    'no id at all',
    { id: '', storedAt: 0, streamSeq: 1 },
    { id: '', storedAt: 0, streamSeq: 1 },
    { after: 4 },
  ],
  ['an id without a number', stored('x', 3 * HOUR_MS), undefined, { after: 4 }],
  [
    'an id that this ledger has not issued',
    stored(99, 3 * HOUR_MS),
    stored(5, 3 * HOUR_MS),
    { after: 4, foreignId: `neo:${LEDGER}:99` },
  ],
];

for (const [name, last, lastLikeFirst, expected] of CASES) {
  test(`resume point: ${name}`, async () => {
    const source = openTestOutbox({ file: ':memory:', profile: 'neo', ledger: LEDGER });
    source.append(10);
    await source.advance(4);
    assert.deepEqual(resumePoint({ source, last, lastLikeFirst, now: NOW }), expected);
    source.close();
  });
}

test('resume point: an empty outbox keeps its cursor', () => {
  const source = openTestOutbox({ file: ':memory:', profile: 'neo', ledger: LEDGER });
  assert.deepEqual(resumePoint({ source, last: stored(3, 0), lastLikeFirst: undefined, now: NOW }), {
    after: 0,
  });
  source.close();
});

test('the newest of several messages was stored last; of the same time, it has the highest number', () => {
  assert.equal(newestOf([undefined, undefined]), undefined);
  assert.deepEqual(newestOf([stored(7, 2_000), undefined, stored(5, 1_000)]), stored(5, 1_000));
  assert.deepEqual(newestOf([stored(10, 1_000), stored(9, 1_000)]), stored(10, 1_000));
});
