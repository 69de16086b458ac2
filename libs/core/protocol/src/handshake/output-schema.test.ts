import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import { MAX_OUTPUT_SCHEMA_BYTES, outputProblems, outputSchemaProblem } from './output-schema.ts';

const PERSON: JsonObject = {
  $id: 'https://example.test/person',
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  additionalProperties: false,
};

describe('an output schema', () => {
  const fits: readonly (readonly [JsonValue, string[]])[] = [
    [{ name: 'Ada' }, []],
    [{ name: 'Ada', age: 36 }, []],
    [{}, ["the value must have required property 'name'"]],
    [{ name: 1 }, ['/name must be string']],
    [
      { name: 'Ada', age: -1, nick: 'A' },
      ['the value must NOT have additional properties (nick)', '/age must be >= 0'],
    ],
    ['Ada', ['the value must be object']],
  ];
  for (const [value, problems] of fits)
    it(`validates ${JSON.stringify(value)} without coercion and names every path`, () => {
      assert.deepEqual(outputProblems(PERSON, value), problems);
      // The same $id again: no instance remembers another one's schema.
      assert.deepEqual(outputProblems(PERSON, value), problems);
    });

  it('is reported when it is unusable, also when it refers to a remote schema', () => {
    assert.equal(outputSchemaProblem(PERSON), undefined);
    const unusable: JsonObject[] = [
      { type: 'nonsense' },
      { $ref: 'https://example.test/other' },
      { pattern: '(' },
    ];
    for (const schema of unusable) assert.match(outputSchemaProblem(schema) ?? '', /^is not a JSON Schema/);
    assert.match(outputProblems({ type: 'nonsense' }, 1)[0] ?? '', /^output_schema is not a JSON Schema/);
  });

  it('is bounded in size', () => {
    const large = { description: 'x'.repeat(MAX_OUTPUT_SCHEMA_BYTES) };
    assert.match(outputSchemaProblem(large) ?? '', /bytes, at most/);
  });

  const repeated = (times: number): JsonObject => {
    const twice = (at: number): JsonObject => ({
      anyOf: [at + 1, at + 1].map((n) => ({ $ref: `#/$defs/${n}` })),
    });
    const levels = Array.from({ length: times }, (_, at) => [String(at), twice(at)]);
    return { $ref: '#/$defs/0', $defs: { ...Object.fromEntries(levels), [times]: { type: 'string' } } };
  };
  const bomb = `${'a'.repeat(60)}!`;
  const hostile: readonly (readonly [string, JsonObject, JsonValue, RegExp])[] = [
    ['a pattern that backtracks endlessly', { pattern: '^(a+)+$' }, bomb, /^output_schema takes more than/],
    [
      'such a pattern for property names',
      { patternProperties: { '^(a+)+$': {} } },
      { [bomb]: 1 },
      /^output_schema takes more than/,
    ],
    ['references that double on each level', repeated(40), 7, /^output_schema takes more than/],
    [
      'a pairwise comparison of items',
      { uniqueItems: true },
      Array.from({ length: 20_000 }, (_, n) => ({ n })),
      /^output_schema takes more than/,
    ],
    ['a schema that refers to itself', { $ref: '#' }, 1, /^output_schema is not .*call stack/],
    [
      'the same, dynamically',
      { $dynamicAnchor: 'a', $dynamicRef: '#a' },
      1,
      /^output_schema is not .*call stack/,
    ],
    ['an asynchronous validator', { $async: true, type: 'string' }, 7, /^output_schema is not .*async/],
    [
      'the same, by reference',
      { $ref: '#/$defs/a', $defs: { a: { $async: true, type: 'string' } } },
      7,
      /^output_schema is not .*async/,
    ],
  ];
  for (const [name, schema, value, problem] of hostile)
    it(`takes a bounded time and never passes: ${name}`, () => {
      const startedAt = performance.now();
      const problems = outputProblems(schema, value);
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? '', problem);
      assert.ok(performance.now() - startedAt < 10_000);
    });

  it('of the maximum size validates a value when it is an ordinary schema', () => {
    const field = {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string', minLength: 1 }, b: { enum: ['x', 'y'] } },
    };
    const names = Array.from({ length: 265 }, (_, at) => `field${at}`);
    const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, field])) };
    assert.ok(JSON.stringify(schema).length > 0.95 * MAX_OUTPUT_SCHEMA_BYTES);
    assert.deepEqual(outputProblems(schema, { field264: { a: 'x' } }), []);
    assert.deepEqual(outputProblems(schema, { field264: { a: 1 } }), ['/field264/a must be string']);
  });

  it('is reported when it or the value is too deep', () => {
    const nested = (levels: number, wrap: (inner: JsonValue) => JsonValue): JsonValue => {
      let value: JsonValue = 1;
      for (let level = 0; level < levels; level += 1) value = wrap(value);
      return value;
    };
    const schema = { not: nested(60_000, (not) => ({ not })) };
    assert.match(outputSchemaProblem(schema) ?? '', /^is not a JSON Schema that can be used here/);
    const value = nested(60_000, (inner) => [inner]);
    assert.match(outputProblems({ items: { $ref: '#' } }, value)[0] ?? '', /call stack/);
  });

  it('ignores inherited properties of the value', () => {
    assert.equal(outputProblems({ required: ['toString'] }, {}).length, 1);
    assert.deepEqual(outputProblems({ properties: { constructor: { type: 'string' } } }, {}), []);
  });

  it('produces problems of a bounded length', () => {
    const schema: JsonObject = { additionalProperties: false };
    const [line = ''] = outputProblems(schema, { ['x'.repeat(10_000)]: 1 });
    assert.ok(line.length > 0 && line.length <= 300);
  });
});
