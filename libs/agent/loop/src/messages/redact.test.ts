import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loggable } from './redact.ts';

const SECRET = 'hunter2secret99';

test('text that looks like a secret is redacted', () => {
  for (const command of [
    `curl -H "Authorization: Bearer ${SECRET}" http://x`,
    `curl -u me:${SECRET} http://x`,
    `git clone https://me:${SECRET}@host/x`,
    `API_KEY=${SECRET} npm test`,
    `export DB_PASSWORD='${SECRET} more ${SECRET}'`,
    `tool --token ${SECRET}`,
    `tool --api-key=${SECRET}`,
    `echo '{"client_secret": "${SECRET}"}'`,
    `login sk-${SECRET}${SECRET}`,
    `login ghp_${SECRET}${SECRET}`,
    `echo eyJhbGciOiJI.eyJzdWIiOiIx.${SECRET}`,
    `cat <<E\n-----BEGIN PRIVATE KEY-----\n${SECRET}\nE`,
    `echo ${'x'.repeat(190)} token=${SECRET}`,
  ]) {
    const line = loggable(command);
    assert.ok(!line.includes(SECRET), line);
    assert.match(line, /\[redacted\]|…$/);
  }
});

test('other text becomes one line of bounded length', () => {
  assert.equal(loggable('npm test\n  --all'), 'npm test --all');
  assert.equal(loggable('x'.repeat(1000)).length, 201);
  assert.ok(loggable('a '.repeat(1_000_000)).length <= 201);
});
