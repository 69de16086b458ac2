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

test('a dispatch that another profile passes on may have more levels: it may have arrived as a text, or by /mcp', () => {
  const dispatch = (levels: number, task: string): boolean => {
    // params, message, parts and the part are four levels, the dispatch is the fifth.
    const data = `{"type":"TASK_DISPATCH","task":${task},"brief":${'['.repeat(levels - 5)}${']'.repeat(levels - 5)}}`;
    const params = `{"message":{"parts":[{"data":${data}}]}}`;
    return readEnvelope(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`).ok;
  };
  const passedOn = '{"path":["switch"]}';
  assert.deepEqual([dispatch(100, '{}'), dispatch(101, '{}')], [true, false]);
  assert.deepEqual([dispatch(110, passedOn), dispatch(111, passedOn)], [true, false]);
});

test('a null member is unset, also where every name is already camelCase', () => {
  assert.deepEqual(TaskParams.parse({ id: 't-1', historyLength: null }), { id: 't-1' });
});
