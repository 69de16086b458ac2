import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { SchemaProblem, sentSchema } from './sent-schema.ts';

const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...rest,
});
const text = { type: 'string' };
const TEXT_OR_MORE = [text, { type: 'number' }, { type: 'boolean' }, { type: 'object' }];
const ANY = { anyOf: [...TEXT_OR_MORE, { type: 'array', items: { anyOf: TEXT_OR_MORE } }] };

/** The sent form of one property. */
function sent(property: JsonObject | boolean, definitions: JsonObject = {}): unknown {
  return sentSchema(object({ it: property }, { $defs: definitions })).schema.properties;
}

const SAME: readonly JsonObject[] = [
  { type: 'string', description: 'Where.', enum: ['a', 'b'] },
  { type: 'array', items: { type: 'integer' } },
  { type: 'object' },
  object({ a: text, b: { type: ['string', 'null'] } }, { required: ['a'] }),
  { anyOf: [text, { type: 'null' }], description: 'Or none.' },
  ANY,
];

test('types, properties, required, enum, items and descriptions are sent as they are', () => {
  for (const schema of SAME) assert.deepEqual(sent(schema), { it: schema });
});

/** Forms that a provider refuses, and the form that each takes. */
const REWRITTEN: readonly [property: JsonObject, sent: JsonObject][] = [
  [
    { type: 'string', minLength: 1, maxLength: 2000 },
    { ...text, description: 'at most 2000 characters' },
  ],
  [
    { type: 'string', maxLength: 2000, description: 'Up to 2,000 characters.' },
    { ...text, description: 'Up to 2,000 characters.' },
  ],
  [
    { type: 'string', format: 'uri', pattern: '^h', description: 'Where.' },
    { ...text, description: 'Where. (matches ^h; format: uri)' },
  ],
  [
    { type: 'integer', minimum: 1, exclusiveMaximum: 5, default: 2 },
    { type: 'integer', description: 'at least 1; less than 5; default: 2' },
  ],
  [
    { type: 'number', exclusiveMinimum: 0, maximum: 9, multipleOf: 0.5 },
    { type: 'number', description: 'at most 9; more than 0; a multiple of 0.5' },
  ],
  [
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
    { type: 'number', description: 'at most 5; more than 0' },
  ],
  [{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER }, { type: 'integer' }],
  [
    { type: 'array', items: text, minItems: 2, uniqueItems: true },
    { type: 'array', description: 'at least 2 items; no item twice', items: text },
  ],
  [{ type: 'array' }, { type: 'array', items: ANY }],
  [
    { type: 'array', prefixItems: [text, { type: 'number' }] },
    { type: 'array', items: { anyOf: [text, { type: 'number' }] } },
  ],
  [
    { const: 'x', title: 'It', examples: ['x'] },
    { ...text, enum: ['x'] },
  ],
  [{ enum: ['a', null] }, { anyOf: [{ ...text, enum: ['a'] }, { type: 'null' }] }],
  [
    { type: 'string', enum: ['a', ''] },
    { ...text, description: 'may be empty', enum: ['a'] },
  ],
  [
    { type: 'integer', enum: [1, 2, 4], description: 'How many.' },
    { type: 'integer', description: 'How many. (one of 1, 2, 4)' },
  ],
  [{ const: 5 }, { type: 'number', description: 'only 5' }],
  [
    { type: ['string', 'integer', 'null'], enum: ['auto', 1, 2, null], description: 'How many.' },
    {
      anyOf: [
        { ...text, enum: ['auto'] },
        { type: ['integer', 'null'], description: 'one of 1, 2' },
      ],
      description: 'How many.',
    },
  ],
  [
    { oneOf: [{ const: 1, title: 'One' }, { const: 2 }] },
    {
      anyOf: [
        { type: 'number', description: 'only 1' },
        { type: 'number', description: 'only 2' },
      ],
    },
  ],
  [{ description: 'Any value.' }, { ...ANY, description: 'Any value.' }],
  [{ type: 'date' }, ANY],
  [object({ a: text }, { additionalProperties: false, patternProperties: {} }), object({ a: text })],
  [
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: 'object', description: 'each value: {"type":"string"}' },
  ],
  [object({ a: true }, { required: ['a', 'b'] }), object({ a: ANY, b: ANY }, { required: ['a', 'b'] })],
  [object({ a: false, b: text }, { required: ['a'] }), object({ b: text })],
  [{ oneOf: [text, { type: 'null' }] }, { anyOf: [text, { type: 'null' }] }],
  [{ anyOf: [{ not: {} }, text] }, text],
  [{ type: 'string', anyOf: [{ maxLength: 1 }, { format: 'uri' }] }, text],
  [
    object({ a: text, b: text }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    { type: 'object', description: 'needs a, or b', properties: { a: text, b: text } },
  ],
  [
    object(
      { a: text, b: text, c: text },
      { allOf: [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { oneOf: [{ required: ['c'] }] }] },
    ),
    { type: 'object', description: 'needs a and c, or b and c', properties: { a: text, b: text, c: text } },
  ],
  [
    { allOf: [{ anyOf: [object({ a: text }), object({ b: text })] }, { oneOf: [object({ c: text })] }] },
    { anyOf: [object({ a: text, c: text }), object({ b: text, c: text })] },
  ],
  [object({ a: text }, { minProperties: 2 }), { ...object({ a: text }), description: 'at least 2 fields' }],
  [
    object({ a: text }, { required: ['a'], oneOf: [object({ b: text }), object({ c: text })] }),
    {
      anyOf: [
        object({ b: text, a: text }, { required: ['a'] }),
        object({ c: text, a: text }, { required: ['a'] }),
      ],
    },
  ],
  [
    {
      allOf: [
        object({ a: text }, { required: ['a'] }),
        { properties: { a: { description: 'First.' }, b: text }, required: ['b'] },
      ],
    },
    object({ a: { ...text, description: 'First.' }, b: text }, { required: ['a', 'b'] }),
  ],
];

test('what a grammar or a strict mode refuses is left out, and told in the description', () => {
  for (const [property, expected] of REWRITTEN)
    assert.deepEqual(sent(property), { it: expected }, JSON.stringify(property));
});

test('local references are replaced by what they name, with their own description', () => {
  const definitions = { place: { type: 'string', description: 'A place.' }, 'a/b': { type: 'integer' } };
  assert.deepEqual(sent({ $ref: '#/$defs/place' }, definitions), {
    it: { ...text, description: 'A place.' },
  });
  assert.deepEqual(sent({ $ref: '#/$defs/place', description: 'To.' }, definitions), {
    it: { ...text, description: 'To.' },
  });
  assert.deepEqual(sent({ $ref: '#/$defs/a~1b' }, definitions), { it: { type: 'integer' } });
  const named = {
    place: { $anchor: 'here', type: 'integer' },
    far: { $id: 'https://a.example/far', ...text },
  };
  assert.deepEqual(sent({ $ref: '#here' }, named), { it: { type: 'integer' } });
  assert.deepEqual(sent({ $ref: 'https://a.example/far' }, named), { it: text });
  const own = object({ it: { $ref: 'https://a.example/own#/$defs/place' } }, { $defs: definitions });
  assert.deepEqual(sentSchema({ ...own, $id: 'https://a.example/own' }).schema.properties, {
    it: { ...text, description: 'A place.' },
  });
  const { schema } = sentSchema({ $ref: '#/definitions/args', definitions: { args: object({ a: text }) } });
  assert.deepEqual(schema, object({ a: text }));
});

test('a reference within itself is a value of its type', () => {
  const node = object({ value: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } });
  assert.deepEqual(sent({ $ref: '#/$defs/node' }, { node }), {
    it: object({ value: text, children: { type: 'array', items: { type: 'object' } } }),
  });
});

test('references that multiply are replaced less deeply, so that the schema stays small', () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const node = object(Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }])));
  const { schema } = sentSchema(
    object({ it: node }, { $defs: Object.fromEntries(names.map((name) => [name, node])) }),
  );
  assert.match(JSON.stringify(schema), /"n0":{"type":"object","properties":{"n0":{"type":"object"}/);
});

test('alternatives at the top are the field `input`, and one alternative is the schema itself', () => {
  const either = { oneOf: [object({ a: text }), object({ b: text })] };
  assert.deepEqual(sentSchema(either), {
    isWrapped: true,
    schema: object({ input: { anyOf: either.oneOf } }, { required: ['input'] }),
  });
  assert.deepEqual(sentSchema({ anyOf: [...either.oneOf, text] }), sentSchema(either));
  const one = { type: 'object', anyOf: [{ properties: { a: text } }] };
  assert.deepEqual(sentSchema(one), { isWrapped: false, schema: object({ a: text }) });
  assert.deepEqual(sentSchema({ type: ['object', 'null'] }).schema, object({}));
});

test('a sent schema is its own sent form', () => {
  const property = object(Object.fromEntries([...REWRITTEN.map(([first]) => first), ...SAME].entries()));
  const { schema } = sentSchema(property);
  assert.deepEqual(sentSchema(schema), { schema, isWrapped: false });
});

test('a schema that cannot be sent says why', () => {
  const nested = Array.from({ length: 40 }).reduce<JsonObject>((inner) => object({ a: inner }), text);
  const problems: readonly [JsonObject, RegExp][] = [
    [text, /is of type "string"/],
    [{ oneOf: [text, { type: 'string', enum: ['a'] }] }, /fits no object/],
    [{ type: 'object', not: {} }, /fits no object/],
    [object({ a: { $ref: 'https://example.org/a.json' } }), /refers to https:\/\/example.org\/a.json/],
    [object({ a: { $ref: '#/$defs/gone' } }), /refers to #\/\$defs\/gone, which it does not have/],
    [object({ a: { ...text, description: 'x'.repeat(20_000) } }), /takes 20\d+ characters/],
    [object({ a: { enum: Array.from({ length: 60_000 }, () => 1) } }), /takes 120\d+ characters/],
    [nested, /nested deeper than 32/],
  ];
  for (const [schema, message] of problems)
    assert.throws(
      () => sentSchema(schema),
      (error) => error instanceof SchemaProblem && message.test(error.message),
    );
});
