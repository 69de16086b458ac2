import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson, type Omitted } from './canonical-json.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Well-formed strings, with every kind of character that is escaped or sorted in its own way. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary-ascii' }),
  fc.constantFrom('', '1', '10', '2', '__proto__', 'constructor', 'toJSON', '\ufb33', '\ud83d\ude00'),
);

const { object } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.oneof(
    { maxDepth: 5 },
    fc.dictionary(text, tie('value'), { maxKeys: 6 }),
    fc.dictionary(text, fc.integer(), { minKeys: 30, maxKeys: 40 }),
  ),
}));

/** As it comes from the wire. */
function parsed(value: unknown): JsonObject {
  const read: unknown = JSON.parse(JSON.stringify(value));
  assert.ok(isJsonObject(read));
  return read;
}

describe('canonicalJson', () => {
  it('is the form that the library canonicalize makes, of any object', () => {
    fc.assert(
      fc.property(object, (value) => assert.equal(canonicalJson(parsed(value)), canonicalize(parsed(value)))),
      { numRuns: 2_000 },
    );
  });

  it('is that form for an object of 1,000 levels', () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 500; level += 1) deep = { inner: [deep], after: 1 };
    assert.equal(canonicalJson(deep), canonicalize(deep));
  });

  it('leaves members out that are undefined', () => {
    const value = { b: 1, a: undefined } as unknown as JsonObject;
    assert.equal(canonicalJson(value), '{"b":1}');
  });

  it('leaves the named members out, and those members of an inner object alone', () => {
    const omitted: Omitted = new Map<string, 'all' | Omitted>([
      ['first', 'all'],
      ['inner', new Map([['x', 'all']])],
    ]);
    const value = { first: 1, second: { x: 1 }, inner: { x: 1, y: [{ x: 1 }], first: 1 }, x: 1 };
    assert.equal(canonicalJson(value, omitted), '{"inner":{"first":1,"y":[{"x":1}]},"second":{"x":1},"x":1}');
    assert.equal(canonicalJson({ first: 1, inner: 1 }, omitted), '{"inner":1}');
  });

  it('does not change the object', () => {
    const value = { b: [3, 1], a: { d: 1, c: 2 } };
    canonicalJson(value);
    assert.equal(JSON.stringify(value), '{"b":[3,1],"a":{"d":1,"c":2}}');
  });
});
