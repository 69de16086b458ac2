import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { allWrong, containers, withField, wrongEach } from '../../../test/support/wrong-fields.ts';
import {
  decodeAnnounce,
  decodeDispatch,
  decodeResult,
  FleetError,
  SessionAnnounceWire,
  TaskDispatchWire,
  TaskResultWire,
} from './index.ts';

/** The fields that a decoder says are wrong, each with its reason. */
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
      readFileSync(new URL(`../fixtures/2.0/${message}.maximal.json`, import.meta.url), 'utf8'),
    );

    it('with every field wrong has every field named', () => {
      const { value, fields } = allWrong(schema);
      assert.ok(fields.length > 20, `${fields.length} fields`);
      assert.deepEqual(named(decode, value), fields.toSorted());
    });

    for (const path of containers(schema))
      it(`whose ${path.join('.')} is something else altogether has that named`, () => {
        assert.deepEqual(named(decode, withField(valid, path, 'something else')), [path.join('.')]);
      });

    for (const [path, { value, fields }] of wrongEach(schema))
      it(`with ${path.join('.')} wrong has that named, and nothing else`, () => {
        const found = named(decode, withField(valid, path, value));
        // A status that is none, or no reason, leaves the rule about the two of them open.
        assert.deepEqual(found, fields.toSorted());
      });
  });
