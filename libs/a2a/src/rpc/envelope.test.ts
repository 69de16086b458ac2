import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope } from './envelope.ts';
import { TaskParams } from './params.ts';

test('params may have 100 levels, and no more', () => {
  const nested = (levels: number): string =>
    `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":${'['.repeat(levels)}1${']'.repeat(levels)}}`;
  assert.deepEqual([readEnvelope(nested(100)).ok, readEnvelope(nested(101)).ok], [true, false]);
  assert.equal(readEnvelope(nested(100_000)).ok, false);
});

test('a null member is unset, also where every name is already camelCase', () => {
  assert.deepEqual(TaskParams.parse({ id: 't-1', historyLength: null }), { id: 't-1' });
});
