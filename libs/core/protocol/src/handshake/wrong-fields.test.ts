import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { allWrong, containers, withField, wrongEach } from '../../../../../test/support/wrong-fields.ts';
import { FleetError } from '../errors.ts';
import { decodeAnnounce, SessionAnnounceWire } from './announce.ts';
import { decodeDispatch, TaskDispatchWire } from './dispatch.ts';
import { decodeResult, TaskResultWire } from './result.ts';

/** The fields that a decoder reports as invalid; each has a reason. */
function named(decode: (wire: unknown) => unknown, wire: unknown): string[] {
  try {
    decode(wire);
  } catch (error) {
    assert.ok(error instanceof FleetError && error.code === 'INVALID_PARAMS');
    for (const { path, reason } of error.fields) assert.notEqual(reason, '', path);
    return error.fields.map(({ path }) => path).sort();
  }
  return [];
}

for (const [message, schema, decode] of [
  ['session-announce', SessionAnnounceWire, decodeAnnounce],
  ['task-dispatch', TaskDispatchWire, decodeDispatch],
  ['task-result', TaskResultWire, decodeResult],
] as const)
  describe(`a ${message}`, () => {
    const valid: unknown = JSON.parse(
      readFileSync(new URL(`../../fixtures/2.0/${message}.maximal.json`, import.meta.url), 'utf8'),
    );

    it('names every field when every field is invalid', () => {
      const { value, fields } = allWrong(schema);
      assert.ok(fields.length > 20, `${fields.length} fields`);
      assert.deepEqual(named(decode, value), fields.toSorted());
    });

    for (const path of containers(schema))
      it(`names ${path.join('.')} when its type is wrong`, () => {
        assert.deepEqual(named(decode, withField(valid, path, 'something else')), [path.join('.')]);
      });

    for (const [path, { value, fields }] of wrongEach(schema))
      it(`names only ${path.join('.')} when it is invalid`, () => {
        assert.deepEqual(named(decode, withField(valid, path, value)), fields.toSorted());
      });
  });
