import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvironment } from './environment.ts';

test('the users of the commands are a range, and by default none is configured', () => {
  const read = (text?: string) => readEnvironment(['--profile', 'neo'], { HERMES_COMMAND_USERS: text });
  assert.deepEqual(read('20000-39999').commandUsers, { first: 20_000, last: 39_999 });
  assert.equal(read().commandUsers, undefined);
  assert.throws(() => read('1000-2000'), { code: 'CONFIG_INVALID', message: /HERMES_COMMAND_USERS/ });
});

test("a member has the name of its profile, or one of its own, and the profile's folder", () => {
  const read = (argv: string[], env: NodeJS.ProcessEnv = {}) => {
    const { name, dir } = readEnvironment(['--profile', 'neo', ...argv], { HERMES_HOME: '/srv', ...env });
    return [name, dir];
  };
  const dir = '/srv/profiles/neo';
  assert.deepEqual(read([]), ['neo', dir]);
  assert.deepEqual(read(['--name', 'neo-2']), ['neo-2', dir]);
  assert.deepEqual(read([], { HERMES_NAME: 'neo-3' }), ['neo-3', dir]);
  assert.deepEqual(read([], { HERMES_NAME: ' ' }), ['neo', dir]);
  assert.deepEqual(read(['--name', 'neo-2'], { HERMES_NAME: 'neo-3' }), ['neo-2', dir]);
});

const REFUSED: readonly (readonly [name: string, message: RegExp])[] = [
  ['3fe5ed2ba63f', /is the id of a container, which every new container changes: .+ HERMES_NAME/],
  ['abcdef012345', /is the id of a container/],
  ['neo.2', /is not a name of a member/],
  ['2-neo', /is not a name of a member/],
  ['Neo', /is not a name of a member/],
  ['neo_2', /is not a name of a member/],
  [`neo-${'1'.repeat(60)}`, /63 characters at most/],
];
for (const [name, message] of REFUSED)
  test(`"${name}" is no name of a member`, () => {
    const refusal = { code: 'CONFIG_INVALID', message };
    assert.throws(() => readEnvironment(['--profile', 'neo', '--name', name], {}), refusal);
    assert.throws(() => readEnvironment(['--profile', 'neo'], { HERMES_NAME: name }), refusal);
  });
