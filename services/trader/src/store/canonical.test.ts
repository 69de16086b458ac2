import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fingerprint, isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import fc from 'fast-check';
import { Canonical, canonical } from './canonical.ts';

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

test('a part whose form is known has the same form inside an object', () => {
  fc.assert(
    fc.property(value, value, (part, other) => {
      const parts = { z: other, a: new Canonical(part) };
      assert.equal(canonical(parts), canonical({ z: other, a: part }));
    }),
  );
});

test('a number without a JSON form is refused', () => {
  assert.throws(() => canonical({ n: Number.POSITIVE_INFINITY }), { code: 'INTERNAL' });
});
