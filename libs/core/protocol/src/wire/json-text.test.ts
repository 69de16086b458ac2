import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonAt, jsonMembers } from './json-text.ts';

test('the members of an object are the same as after JSON.parse, in any layout', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(3), (text, indent) => {
      const value: unknown = JSON.parse(text);
      const laidOut = JSON.stringify(value, undefined, indent);
      const members = jsonMembers(`\n ${laidOut}\t`);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      assert.equal(members !== undefined, isObject);
      const entries = (members ?? []).map(({ name, text: part }) => [name, JSON.parse(part)] as const);
      assert.deepEqual(new Map(entries), new Map(isObject ? Object.entries(value) : []));
    }),
    { numRuns: 1_000 },
  );
});

test('jsonAt returns the original text: a number that exceeds a double, a repeated name, a quoted brace', () => {
  const text = '{"params" : {"a":[1, {"x": 1e400, "__proto__":{"y":"}\\"]"}}], "b":2, "b": 3}}';
  assert.equal(jsonAt(text, ['params', 'a', 1]), '{"x": 1e400, "__proto__":{"y":"}\\"]"}}');
  assert.equal(jsonAt(text, ['params', 'a', 1, '__proto__', 'y']), '"}\\"]"');
  assert.equal(jsonAt(text, ['params', 'b']), '3');
  assert.deepEqual(
    jsonMembers(jsonAt(text, ['params']) ?? '')?.map(({ name }) => name),
    ['a', 'b', 'b'],
  );
  for (const path of [
    ['nothing'],
    ['params', 'a', 2],
    ['params', 'b', 'c'],
    ['params', 0],
    ['params', 'nothing', 'more'],
  ])
    assert.equal(jsonAt(text, path), undefined);
});
