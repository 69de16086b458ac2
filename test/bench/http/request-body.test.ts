import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestBody } from './request-body.ts';

test('each body is a dispatch with the ids that it is made of', () => {
  const body = requestBody('blocked');
  const idsOf = (text: string): unknown[] => {
    const { messageId, parts } = JSON.parse(text).params.message;
    return [messageId, parts[0].data.task.task_id, parts[0].data.requirements];
  };
  assert.deepEqual(idsOf(body('t1', 'm1')), ['m1', 't1', { required_mcp: ['nope'] }]);
  assert.deepEqual(idsOf(body('t2', 'm2')), ['m2', 't2', { required_mcp: ['nope'] }]);
  assert.deepEqual(idsOf(requestBody('dispatch')('t', 'm')), ['m', 't', undefined]);
});
