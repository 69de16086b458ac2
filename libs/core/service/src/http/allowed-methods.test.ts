import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAllowedMethods } from './allowed-methods.ts';

test('a path allows the methods of every pattern that it matches', () => {
  const allowed = createAllowedMethods();
  allowed.add('/', 'POST');
  allowed.add('/jsonrpc', ['POST']);
  allowed.add('/tasks/:id', 'GET');
  allowed.add('/tasks/:id', 'DELETE');
  allowed.add('/tasks/all', 'GET');
  allowed.add('/files/*', 'GET');
  assert.deepEqual(allowed.of('/'), ['POST']);
  assert.deepEqual(allowed.of('/jsonrpc'), ['POST']);
  assert.deepEqual(allowed.of('/tasks/all'), ['DELETE', 'GET']);
  assert.deepEqual(allowed.of('/files/a/b'), ['GET']);
  for (const unknown of ['/jsonrpc/', '/tasks', '/tasks/', '/tasks/1/cost', '/file', '']) {
    assert.deepEqual(allowed.of(unknown), [], unknown);
  }
});
