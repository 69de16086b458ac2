import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SortedList } from './sorted-list.ts';

test('a sorted list behaves like a sorted array', () => {
  const keys = fc.array(fc.nat(500), { maxLength: 300 });
  fc.assert(
    fc.property(keys, keys, (added, removed) => {
      const list = new SortedList<number>((a, b) => a - b);
      const model = new Set<number>();
      for (const [at, key] of added.entries()) {
        if (!model.has(key)) list.add(key);
        model.add(key);
        const gone = removed[at];
        if (gone !== undefined) list.remove(gone);
        if (gone !== undefined) model.delete(gone);
        assert.deepEqual([list.size, list.has(key)], [model.size, model.has(key)]);
        assert.equal(list.first, [...model].sort((a, b) => a - b)[0]);
      }
      for (const key of [...model].sort((a, b) => a - b)) {
        assert.equal(list.first, key);
        list.remove(key);
      }
      assert.deepEqual([list.size, list.first], [0, undefined]);
    }),
  );
});
