import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fingerprint, isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import { canonical } from './canonical.ts';

const value = fc.jsonValue({ stringUnit: 'grapheme' }).map((json): JsonObject => {
  const parsed: JsonValue = JSON.parse(JSON.stringify({ json }));
  return isJsonObject(parsed) ? parsed : {};
});

test('values that RFC 8785 covers have its form', () => {
  fc.assert(
    fc.property(value, (json) => {
      assert.equal(createHash('sha256').update(canonical(json)).digest('hex'), fingerprint(json));
    }),
  );
});

test('any text survives a round trip', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, text) => {
      const json: JsonObject = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(`\ud800${text}\0`)}}`);
      assert.deepEqual(JSON.parse(canonical(json)), json);
      assert.ok(canonical(json).isWellFormed());
    }),
  );
});

test('names in another order have the same form', () => {
  const backwards = (json: JsonValue): JsonValue => {
    if (Array.isArray(json)) return json.map(backwards);
    if (!isJsonObject(json)) return json;
    const members = Object.entries(json).map(([name, each]) => [name, backwards(each)]);
    return Object.fromEntries(members.toReversed());
  };
  fc.assert(fc.property(value, (json) => assert.equal(canonical(backwards(json)), canonical(json))));
  assert.equal(canonical({ 9: 'a', 10: 'b', b: [{ d: 1, c: 2 }] }), '{"10":"b","9":"a","b":[{"c":2,"d":1}]}');
});

test('a number without a JSON form is refused', () => {
  assert.throws(() => canonical({ n: Number.POSITIVE_INFINITY }), { code: 'INTERNAL' });
  assert.throws(() => canonical([Number.NaN]), { code: 'INTERNAL' });
});
