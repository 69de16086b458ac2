import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from './json.ts';
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
    it(`judges ${JSON.stringify(value)} without coercing it, and names every place`, () => {
      assert.deepEqual(outputProblems(PERSON, value), problems);
      // The same schema again, with its $id: no instance remembers another one's.
      assert.deepEqual(outputProblems(PERSON, value), problems);
    });

  it('that is none is named, also where it refers to what would have to be fetched', () => {
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
});
