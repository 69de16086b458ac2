import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAway } from './readers.ts';

test('the bus is away when no reader reaches it, whatever those that have failed', () => {
  const reader = (connected: boolean, hasFailed = false) => ({ connected, hasFailed });
  assert.equal(isAway([reader(false), reader(false)]), true);
  assert.equal(isAway([reader(false), reader(true)]), false);
  assert.equal(isAway([reader(false, true), reader(true)]), false);
  assert.equal(isAway([reader(false, true), reader(false)]), true);
  assert.equal(isAway([reader(false, true), reader(false, true)]), false);
});
