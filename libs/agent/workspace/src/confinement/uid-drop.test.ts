import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMarks } from './uid-drop.ts';

const MARKS = 256;

test('a mark is given again only when no process carries it', () => {
  const carried = new Set<number>();
  const next = createMarks(7, (mark) => carried.has(mark));
  const first = Array.from({ length: MARKS }, next);
  assert.equal(new Set(first).size, MARKS);
  carried.add(first[0] ?? 0).add(first[1] ?? 0);
  assert.deepEqual([next(), next()], [first[2], first[3]]);
  for (const mark of first) carried.add(mark);
  assert.ok(first.includes(next()));
});
