import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RecentOutput } from './recent-output.ts';

test('it keeps the last bytes, and says how many before them are lost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 }), { maxLength: 60 }),
      fc.nat({ max: 2000 }),
      (limit, chunks, at) => {
        const output = new RecentOutput(limit);
        for (const chunk of chunks) output.push(Buffer.from(chunk));
        const whole = chunks.join('');
        assert.equal(output.totalBytes, whole.length);
        const start = Math.min(at, whole.length);
        const kept = Math.max(start, whole.length - limit);
        assert.deepEqual(output.since(start), { text: whole.slice(kept), lostBytes: kept - start });
      },
    ),
  );
});

test('many small chunks are kept as one', () => {
  const output = new RecentOutput(10_000);
  for (let at = 0; at < 20_000; at += 1) output.push(Buffer.from('x'));
  assert.equal(output.since(0).text.length, 10_000);
  assert.equal(output.since(0).lostBytes, 10_000);
});
