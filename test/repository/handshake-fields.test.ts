import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { decodeAnnounce, decodeDispatch, decodeResult, readResult } from '@hermes-fleet/protocol/handshake';
import { doc, plain, rows, section } from '../support/docs.ts';
import { fieldRules } from '../support/field-rules.ts';
import { ROOT } from '../support/fleet.ts';
import { published } from '../support/schemas.ts';

const DECODERS = {
  'session-announce': decodeAnnounce,
  'task-dispatch': decodeDispatch,
  'task-result': decodeResult,
} as const;

/** The fields without which a TASK_RESULT is refused (docs/handshake.md#invalid-fields). */
const INDISPENSABLE = new Set(['type', 'protocol_version', 'task_id', 'status', 'tokens_spent']);

function json(path: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
  assert.ok(isJsonObject(value), path);
  return value;
}

for (const [message, decode] of Object.entries(DECODERS)) {
  const heading = message.toUpperCase().replace('-', '_');
  // The other tables of a section have three columns.
  const table = rows(section(doc('docs/handshake.md'), heading)).filter((row) => row.length === 4);
  const documented = new Map(
    table.map(([field, type = '', required]) => [plain(field), { type, required: plain(required) }]),
  );
  const schema = published(`${message}.schema.json`);
  assert.ok(isJsonObject(schema));
  const rules = fieldRules(schema);
  const whole = json(`libs/core/protocol/fixtures/2.0/${message}.maximal.json`);

  describe(`handshake.md says of each field of ${heading}`, () => {
    it('what its schema says', () => {
      assert.deepEqual([...documented.keys()].sort(), [...rules.keys()].sort());
      for (const [field, { type, required }] of documented) {
        assert.equal(required, rules.get(field)?.required, `${field}: required`);
        assert.equal(type.endsWith(' or null'), rules.get(field)?.nullable, `${field}: or null`);
      }
    });

    it('what happens to a message without it', () => {
      decode(whole);
      for (const [field, { required }] of documented) {
        const rest = structuredClone(whole);
        assert.ok(remove(rest, keysOf(field)) > 0, `${message}.maximal.json lacks ${field}`);
        if (required === 'no' && field !== REQUIRED_BY_OTHERS) decode(rest);
        else assert.throws(() => decode(rest), { code: 'INVALID_PARAMS' }, field);
        if (message !== 'task-result') continue;
        if (INDISPENSABLE.has(field))
          assert.throws(() => readResult(rest), { code: 'INVALID_PARAMS' }, field);
        else assert.equal(readResult(rest).dropped.length > 0, required !== 'no', field);
      }
    });
  });
}

/** Its schema does not require it, but a bundle beside it does. */
const REQUIRED_BY_OTHERS = 'task.repository.base';

/** The keys on the way to a field; a list or a map of plain values is one field. */
const keysOf = (field: string): string[] => field.replace(/(\[\]|\.<name>)$/, '').split('.');

/** Removes a field from the object, in every entry of the lists on its way. Returns how often it was there. */
function remove(value: unknown, [key = '', ...below]: readonly string[]): number {
  if (!isJsonObject(value)) return 0;
  const name = key.replace(/\[\]$/, '');
  if (below.length === 0) {
    const isThere = Object.hasOwn(value, name);
    Reflect.deleteProperty(value, name);
    return isThere ? 1 : 0;
  }
  const inner = value[name];
  const parts = key.endsWith('[]') && Array.isArray(inner) ? inner : [inner];
  return parts.reduce<number>((sum, part) => sum + remove(part, below), 0);
}
