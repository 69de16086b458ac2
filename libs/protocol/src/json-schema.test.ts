import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { type HandshakeMessage, handshakeSchemas, isJsonObject, type JsonObject } from './index.ts';

const schemas = handshakeSchemas();
const messages: readonly HandshakeMessage[] = ['session-announce', 'task-dispatch', 'task-result'];

const fixture = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/${path}.json`, import.meta.url), 'utf8'));

const Invalid = z.array(
  z.strictObject({ name: z.string(), message: z.unknown(), fields: z.array(z.string()) }),
);

/** As anybody else would use them; `format` is said by a pattern too, so that it counts without a plug-in. */
const validatorOf = (name: HandshakeMessage) =>
  new Ajv2020({ allErrors: true, strict: true, strictRequired: false, validateFormats: false }).compile(
    schemas[name],
  );

/** Where an error is, as our own answers write it. */
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
      it(`rejects, in the same places as the code: ${what}`, () => {
        assert.ok(!validate(message));
        const found = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(fieldOf);
        assert.deepEqual([...new Set(found)].sort(), [...new Set(fields)].sort());
      });

    it('rejects what 3.0 made of it', () => {
      assert.ok(!validate(fixture(`3.0/${name}`)));
    });

    it('says which message and version it is of, and what every field means', () => {
      const schema = schemas[name];
      assert.equal(schema['$schema'], 'https://json-schema.org/draft/2020-12/schema');
      assert.equal(schema['$id'], `urn:hermes-fleet:handshake:2.0:${name}`);
      assert.equal(schema['title'], name.toUpperCase().replace('-', '_'));
      assert.deepEqual(undescribed(schema, name), []);
    });
  });

/** The fields of a schema, at every depth, that nothing is said about. */
function undescribed(schema: JsonObject, path: string): string[] {
  const { properties, items } = schema;
  const below = isJsonObject(items) ? undescribed(items, `${path}[]`) : [];
  if (!isJsonObject(properties)) return below;
  const fields = Object.entries(properties).flatMap(([key, field]) => {
    assert.ok(isJsonObject(field));
    const said = typeof field['description'] === 'string' && field['description'] !== '';
    return [...(said ? [] : [`${path}.${key}`]), ...undescribed(field, `${path}.${key}`)];
  });
  return [...below, ...fields];
}
