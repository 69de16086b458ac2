import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenProblems } from './token.ts';

const env = {
  read: (name: string) =>
    ({ GOOD: 'long-enough-to-be-a-token', SHORT: 'short', HASH: `sha256:${'a'.repeat(64)}` })[name],
};

test('every token in an invalid fleet.yaml is checked', () => {
  const raw = {
    fleet: {
      nonsense: 7,
      server: {
        bind_port: 'no port',
        token_env: 'GONE',
        callers: { neo: { token_env: 'SHORT' }, trinity: { token_env: 'HASH' }, odd: 'x' },
      },
      agents: {
        neo: { token_env: 'GOOD' },
        trinity: { token_env: 'HASH' },
        odd: { token_env: 'not a name' },
      },
      nats: { user_env: 'SHORT', password_env: 'AWAY' },
    },
  };
  const problems = tokenProblems(raw, env);
  assert.deepEqual(
    problems.map(({ path }) => path),
    [
      'fleet.server.token_env',
      'fleet.server.callers.neo.token_env',
      'fleet.agents.trinity.token_env',
      'fleet.nats.password_env',
    ],
  );
  assert.match(problems[1]?.reason ?? '', /^SHORT is shorter than 16 characters/);
});

test("without authentication the callers' tokens are not read, and an invalid configuration has none", () => {
  const server = { auth_required: false, token_env: 'GONE' };
  assert.deepEqual(tokenProblems({ fleet: { server } }, env), []);
  for (const raw of [undefined, null, 'text', { fleet: [] }]) assert.deepEqual(tokenProblems(raw, env), []);
});
