import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvironment } from './environment.ts';

test('the users of the commands are a range, and by default none is configured', () => {
  const read = (text?: string) => readEnvironment(['--profile', 'neo'], { HERMES_COMMAND_USERS: text });
  assert.deepEqual(read('20000-39999').commandUsers, { first: 20_000, last: 39_999 });
  assert.equal(read().commandUsers, undefined);
  assert.throws(() => read('1000-2000'), { code: 'CONFIG_INVALID', message: /HERMES_COMMAND_USERS/ });
});
