import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FleetError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { decodeAnnounce, readAnnounce } from './announce.ts';
import { decodeResult } from './result.ts';

const MANY = 400_000;

function fixture(name: string): JsonObject {
  const wire: unknown = JSON.parse(
    readFileSync(new URL(`../../fixtures/2.0/${name}.maximal.json`, import.meta.url), 'utf8'),
  );
  assert.ok(isJsonObject(wire));
  return wire;
}

function named(decode: (wire: unknown) => unknown, wire: unknown): string[] {
  try {
    decode(wire);
  } catch (error) {
    assert.ok(error instanceof FleetError);
    return error.fields.map(({ path, reason }) => `${path}: ${reason}`);
  }
  return [];
}

test('an excessively long list is rejected as a whole, not entry by entry', () => {
  const result = fixture('task-result');
  const wrong = Array.from({ length: MANY }, () => ({}));
  const { artifacts } = result;
  assert.ok(isJsonObject(artifacts));
  for (const [path, wire] of [
    ...['next_steps', 'remaining', 'unmet', 'evidence', 'attempts'].map(
      (name) => [name, { ...result, [name]: wrong }] as const,
    ),
    ['artifacts.files_changed', { ...result, artifacts: { ...artifacts, files_changed: wrong } }],
  ] as const)
    assert.match(named(decodeResult, wire).join(), new RegExp(`^${path}: Too big[^,]*$`), path);
  const announce = { ...fixture('session-announce'), protocol_versions: wrong };
  assert.match(named(decodeAnnounce, announce).join(), /^protocol_versions: Too big[^,]*$/);
});

test('a foreign announce is recorded with a bounded number of versions of bounded length', () => {
  const listed = Array.from({ length: MANY }, (_, minor) => `3.${minor}`);
  const read = readAnnounce(
    { type: 'SESSION_ANNOUNCE', protocol_version: '3.0', protocol_versions: listed },
    ['2.0'],
  );
  assert.equal(read.kind === 'foreign' && read.versions.length, 100);
  const long = { ...fixture('session-announce'), protocol_version: `2.${'1'.repeat(1_000)}` };
  assert.match(named(decodeAnnounce, long).join(), /^protocol_version: must be "major\.minor"/);
});
