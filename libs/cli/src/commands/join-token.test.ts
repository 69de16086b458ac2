import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleet, profileStub } from '../../testing/profile-stub.ts';

test('the file of a join token is there only when a token was made', async (t) => {
  const made = {
    ...{ id: 'a', name: '*', state: 'open', tier: null, endpoints: [], scopes: [], created_by: 'operator' },
    ...{ created_at: 'then', expires_at: '2026-01-01T00:00:00Z', used_by: null, token: 'hfj_secret' },
  };
  const answers: Record<string, { status?: number; body: unknown }> = {};
  const { dir, url } = await profileStub(t, answers);
  const file = join(dir, 'token');
  const create = () =>
    fleet(['join-token', 'create', '--dir', dir, '--reach', `switch=${url}`, '--token-file', file]);
  const message = 'endpoints is needed';
  answers['/fleet/join-tokens'] = { status: 400, body: { error: { code: 'INVALID_PARAMS', message } } };
  const refused = await create();
  assert.match(refused.stderr, /endpoints is needed/);
  assert.equal(existsSync(file), false);
  answers['/fleet/join-tokens'] = { body: made };
  const done = await create();
  assert.equal(done.code, 0, done.stderr);
  assert.equal(readFileSync(file, 'utf8'), 'hfj_secret\n');
  assert.doesNotMatch(done.stdout + done.stderr, /hfj_secret/);
});

test('a refused join token is told with where to get another one', async (t) => {
  const message = 'this join token expired at 2026-01-01T00:15:00Z: ask for another one';
  const body = { error: { code: 'UNAUTHENTICATED', message } };
  const { dir, url } = await profileStub(t, { '/fleet/join': { status: 401, body } });
  const file = join(dir, 'token');
  writeFileSync(file, 'hfj_expired\n', { mode: 0o600 });
  const refused = await fleet(['join', url, '--token-file', file, '--dir', join(dir, 'worker')]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /this join token expired/);
  assert.match(refused.stderr, /hint: fleet join-token create, at the orchestrator, makes a join token/);
  assert.doesNotMatch(refused.stderr, /hfj_expired|fleet token prints/);
});
