import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { checkSigningKey } from './signing-key.ts';

test('a key that signs without a passphrase, and that is the gateway’s alone, is taken', (t) => {
  const folder = tempDir(t);
  const file = (name: string): string => join(folder, name);
  const makeKey = (name: string, passphrase: string): void =>
    void execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', file(name)]);
  makeKey('key', '');
  makeKey('locked', 'secret');
  makeKey('open', '');
  chmodSync(file('open'), 0o640);
  writeFileSync(file('junk'), 'no key', { mode: 0o600 });
  checkSigningKey(file('key'));
  for (const [name, reason] of [
    ['locked', /cannot sign with .*locked \(.*\); use a private key without a passphrase$/],
    ['open', /other users may use .*open; .*chmod 600$/],
    ['junk', /cannot sign with .*junk/],
    ['gone', /gone does not exist; create the key with ssh-keygen$/],
    ['.', /is not a file/],
  ] as const)
    assert.throws(
      () => checkSigningKey(file(name)),
      ({ code, fields: [field] }) =>
        code === 'CONFIG_INVALID' &&
        field.path === 'workspace.commit.signing_key_file' &&
        reason.test(field.reason),
    );
});
