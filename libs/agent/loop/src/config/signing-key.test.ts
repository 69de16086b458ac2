import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { AgentConfigSchema } from './config-yaml.ts';
import { checkSigningKey, exposedKey } from './signing-key.ts';

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
  const isRoot = process.getuid?.() === 0;
  makeKey('foreign', '');
  if (isRoot) chownSync(file('foreign'), 1500, 1500);
  for (const [name, reason] of [
    // Only root can read the key of another user that is that user's alone.
    ...(isRoot ? [['foreign', /foreign belongs to another user \(uid 1500\); .*chown$/] as const] : []),
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

test('a signing key is exposed only where nothing confines commands', () => {
  const exposed = (confine: 'auto' | 'unconfined', file?: string) =>
    exposedKey(
      AgentConfigSchema.parse({
        tools: { shell: { confine } },
        workspace: { commit: file === undefined ? {} : { signing_key_file: file } },
      }),
    );
  assert.deepEqual([exposed('auto', '/key'), exposed('unconfined')], [undefined, undefined]);
  assert.match(exposed('unconfined', '/key') ?? '', /commands can read the key .*unconfined/);
});
