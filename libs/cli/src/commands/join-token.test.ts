import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

test('the file of a join token is there only when a token was made', async (t) => {
  const made = { id: 'a', name: '*', expires_at: '2026-01-01T00:00:00Z', token: 'hfj_secret' };
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
