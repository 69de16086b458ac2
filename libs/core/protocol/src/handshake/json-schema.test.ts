import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { type HandshakeMessage, handshakeSchemas } from './json-schema.ts';

const schemas = handshakeSchemas();
const messages: readonly HandshakeMessage[] = ['session-announce', 'task-dispatch', 'task-result'];

const fixture = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/${path}.json`, import.meta.url), 'utf8'));

const Invalid = z.array(
  z.strictObject({ name: z.string(), message: z.unknown(), fields: z.array(z.string()) }),
);

/** A foreign validator without the `format` plug-in: a pattern repeats each format. */
const validatorOf = (name: HandshakeMessage) =>
  new Ajv2020({ allErrors: true, strict: true, strictRequired: false, validateFormats: false }).compile(
    schemas[name],
  );

/** The path of an error in the notation of our own errors. */
function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath.split('/').slice(1);
  if (keyword === 'required' && 'missingProperty' in params) path.push(String(params.missingProperty));
  return path.reduce(
    (text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

for (const name of messages)
  describe(`the JSON Schema of ${name}`, () => {
    const validate = validatorOf(name);
    const valid = [`2.0/${name}.source`, `2.0/${name}.maximal`, `2.1/${name}`];

    for (const path of valid)
      it(`accepts ${path}`, () => {
        assert.ok(validate(fixture(path)), JSON.stringify(validate.errors));
      });

    for (const { name: what, message, fields } of Invalid.parse(fixture(`2.0/${name}.invalid`)))
      it(`rejects the same fields as the code: ${what}`, () => {
        assert.ok(!validate(message));
        const found = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(fieldOf);
        assert.deepEqual([...new Set(found)].sort(), [...new Set(fields)].sort());
      });

    it('rejects the shape of 3.0', () => {
      assert.ok(!validate(fixture(`3.0/${name}`)));
    });

    it('names its message and version, and describes every field', () => {
      const schema = schemas[name];
      assert.equal(schema['$schema'], 'https://json-schema.org/draft/2020-12/schema');
      assert.equal(schema['$id'], `urn:hermes-fleet:handshake:2.0:${name}`);
      assert.equal(schema['title'], name.toUpperCase().replace('-', '_'));
      assert.deepEqual(undescribed(schema, name), []);
    });
  });

/** The fields of a schema without a description, at every depth. */
function undescribed(schema: JsonObject, path: string): string[] {
  const { properties, items } = schema;
  const below = isJsonObject(items) ? undescribed(items, `${path}[]`) : [];
  if (!isJsonObject(properties)) return below;
  const fields = Object.entries(properties).flatMap(([key, field]) => {
    assert.ok(isJsonObject(field));
    const isDescribed = typeof field['description'] === 'string' && field['description'] !== '';
    return [...(isDescribed ? [] : [`${path}.${key}`]), ...undescribed(field, `${path}.${key}`)];
  });
  return [...below, ...fields];
}
