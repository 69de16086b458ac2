import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { defaultUsers, isMapped, parseUserRange } from './user-range.ts';

test('a range is two numbers without root, the gateway and the shared user', () => {
  assert.deepEqual(parseUserRange('20000-39999'), { first: 20_000, last: 39_999 });
  const own = process.getuid?.() ?? 0;
  for (const text of [
    '',
    '1',
    'a-b',
    '2000-1999',
    '0-5',
    '1000-1001',
    `${own}-${own}`,
    '2000-4000000000',
    '-1-5',
  ]) {
    assert.throws(() => parseUserRange(text), /HERMES_COMMAND_USERS/, text);
  }
});

test('the ranges of two workspaces differ, and a range that does not exist here is known', () => {
  assert.deepEqual(defaultUsers('/a'), defaultUsers('/a'));
  assert.notDeepEqual(defaultUsers('/a'), defaultUsers('/b'));
  const [, , count = 0] = readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\s+/).map(Number);
  assert.equal(isMapped({ first: 1, last: 2 }), true);
  assert.equal(isMapped({ first: 1, last: count }), false);
});
