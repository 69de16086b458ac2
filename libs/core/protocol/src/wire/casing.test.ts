import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { camelize, snakeize } from './casing.ts';

const Inner = z.looseObject({ deep_key: z.unknown().optional(), plain: z.unknown().optional() });
const Schema = z.looseObject({
  first_name: z.unknown().optional(),
  step_2_of: z.unknown().optional(),
  in_ner: Inner.nullable().optional(),
  in_list: z.array(Inner).optional(),
  in_record: z.record(z.string(), Inner).optional(),
});

describe('casing', () => {
  it('renames only the keys that the schema names, at every depth', () => {
    const wire = {
      first_name: { deep_key: 1 },
      step_2_of: 3,
      in_ner: { deep_key: 1, un_known: { deep_key: 2 } },
      in_list: [{ deep_key: 1 }],
      in_record: { some_server: { deep_key: 1 } },
      un_known: { first_name: 1 },
    };
    const camel = {
      firstName: { deep_key: 1 },
      step2Of: 3,
      inNer: { deepKey: 1, un_known: { deep_key: 2 } },
      inList: [{ deepKey: 1 }],
      inRecord: { some_server: { deepKey: 1 } },
      un_known: { first_name: 1 },
    };
    assert.deepEqual(camelize(Schema, wire), camel);
    assert.deepEqual(snakeize(Schema, camelize(Schema, wire)), wire);
  });

  it('drops undefined on the way to the wire', () => {
    assert.deepEqual(Object.keys(snakeize(Schema, { firstName: undefined, step2Of: 1, inNer: undefined })), [
      'step_2_of',
    ]);
  });

  const key = fc.oneof(
    fc.constantFrom(
      'first_name',
      'firstName',
      'deep_key',
      'deepKey',
      'in_ner',
      'inNer',
      'inList',
      'step2Of',
      'plain',
    ),
    fc.constantFrom(
      'wire:firstName',
      'wire:wire:firstName',
      'wire:',
      'wire:x',
      'constructor',
      'toString',
      '',
    ),
    fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__'),
  );
  const inner = fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 });
  const wireValue = fc
    .tuple(
      inner,
      fc.record(
        {
          in_ner: fc.option(inner),
          in_list: fc.array(inner, { maxLength: 3 }),
          in_record: fc.dictionary(key, inner, { maxKeys: 3 }),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([loose, known]) => {
      const { in_ner: _a, in_list: _b, in_record: _c, ...rest } = loose;
      return { ...rest, ...known };
    });

  it('restores every message, whatever the names of its unknown fields', () => {
    fc.assert(
      fc.property(wireValue, (value) => {
        const wire = Schema.parse(value);
        assert.deepEqual({ ...snakeize(Schema, camelize(Schema, wire)) }, { ...wire });
        assert.deepEqual(JSON.parse(JSON.stringify(wire)), JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  });

  it('puts only validated fields under known names', () => {
    fc.assert(
      fc.property(wireValue, (value) => {
        const wire = Schema.parse(value);
        const camel = camelize(Schema, wire);
        assert.deepEqual(camel.firstName, wire.first_name);
        assert.deepEqual(camel.step2Of, wire.step_2_of);
      }),
      { numRuns: 500 },
    );
  });
});
