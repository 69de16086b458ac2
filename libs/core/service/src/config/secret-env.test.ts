import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from './secret-env.ts';

const invalid = (message: string) => ({ name: 'FleetError', code: 'CONFIG_INVALID', message });

test('a variable has precedence over its file, and its file over the keys directory; all are trimmed', (t) => {
  const dir = tempDir(t);
  const keys = join(dir, 'keys');
  mkdirSync(keys);
  writeFileSync(join(dir, 'token'), '  from-file\n');
  writeFileSync(join(keys, 'TOKEN'), 'from-keys\n');
  const sources = { TOKEN: ' from-env ', TOKEN_FILE: join(dir, 'token'), HERMES_KEYS_DIR: keys };
  assert.equal(createSecretEnv(sources).read('TOKEN'), 'from-env');
  assert.equal(createSecretEnv({ ...sources, TOKEN: undefined }).read('TOKEN'), 'from-file');
  assert.equal(createSecretEnv({ ...sources, TOKEN: '  ', TOKEN_FILE: '' }).read('TOKEN'), 'from-keys');
  assert.equal(createSecretEnv({ HERMES_KEYS_DIR: keys }).read('OTHER'), undefined);
  assert.equal(createSecretEnv({}).read('TOKEN'), undefined);
});

test('a replica reads a key of its own before the one that it shares with the others', (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'NATS_USER'), 'neo');
  writeFileSync(join(dir, 'neo-2.NATS_USER'), 'neo-2');
  const read = (HERMES_NAME?: string) =>
    createSecretEnv({ HERMES_KEYS_DIR: dir, HERMES_NAME }).read('NATS_USER');
  assert.deepEqual([read('neo-2'), read('neo-3'), read()], ['neo-2', 'neo', 'neo']);
  writeFileSync(join(dir, 'neo-3.NATS_USER'), '');
  assert.throws(
    () => read('neo-3'),
    invalid(
      `NATS_USER (in HERMES_KEYS_DIR): ${join(dir, 'neo-3.NATS_USER')} is empty; put the secret into it`,
    ),
  );
});

test('keys may be lines of one file, as a secret of Docker Swarm; a folder has precedence', (t) => {
  const dir = tempDir(t);
  const bundle = join(dir, 'bundle');
  writeFileSync(bundle, 'NATS_USER=neo\nneo-2.NATS_USER=neo-2\nTOKEN=a=b\nEMPTY=\n');
  const read = (name: string, env: NodeJS.ProcessEnv = {}) =>
    createSecretEnv({ HERMES_KEYS_FILE: bundle, ...env }).read(name);
  assert.deepEqual(
    [
      read('NATS_USER'),
      read('NATS_USER', { HERMES_NAME: 'neo-2' }),
      read('TOKEN'),
      read('EMPTY'),
      read('USER'),
    ],
    ['neo', 'neo-2', 'a=b', undefined, undefined],
  );
  writeFileSync(join(dir, 'TOKEN'), 'from-keys');
  assert.equal(read('TOKEN', { HERMES_KEYS_DIR: dir }), 'from-keys');
  assert.equal(read('NATS_USER', { HERMES_KEYS_DIR: dir }), 'neo');
  assert.throws(() => read('TOKEN', { HERMES_KEYS_FILE: join(dir, 'none') }), {
    code: 'CONFIG_INVALID',
    message: /^HERMES_KEYS_FILE: /,
  });
});

test('a changed secret file takes effect', (t) => {
  const dir = tempDir(t);
  const env = createSecretEnv({ HERMES_KEYS_DIR: dir });
  assert.equal(env.read('TOKEN'), undefined);
  writeFileSync(join(dir, 'TOKEN'), 'one');
  assert.equal(env.read('TOKEN'), 'one');
  writeFileSync(join(dir, 'TOKEN'), 'two');
  assert.equal(env.read('TOKEN'), 'two');
});

test('an unusable secret file is an error that names the variable', (t) => {
  const dir = tempDir(t);
  const missing = join(dir, 'missing');
  assert.throws(
    () => createSecretEnv({ TOKEN_FILE: missing }).read('TOKEN'),
    invalid(`TOKEN_FILE: ${missing} can't be read (ENOENT); check that it exists and who may read it`),
  );
  assert.throws(
    () => createSecretEnv({ TOKEN_FILE: dir }).read('TOKEN'),
    invalid(`TOKEN_FILE: ${dir} can't be read (EISDIR); check that it exists and who may read it`),
  );
  const empty = join(dir, 'EMPTY');
  writeFileSync(empty, ' \n');
  assert.throws(
    () => createSecretEnv({ HERMES_KEYS_DIR: dir }).read('EMPTY'),
    invalid(`EMPTY (in HERMES_KEYS_DIR): ${empty} is empty; put the secret into it`),
  );
  const loop = join(dir, 'LOOP');
  symlinkSync(loop, loop);
  assert.throws(
    () => createSecretEnv({ HERMES_KEYS_DIR: dir }).read('LOOP'),
    invalid(
      `LOOP (in HERMES_KEYS_DIR): ${loop} can't be read (ELOOP); check that it exists and who may read it`,
    ),
  );
  const large = join(dir, 'LARGE');
  writeFileSync(large, 'x'.repeat(65_537));
  assert.throws(
    () => createSecretEnv({ LARGE_FILE: large }).read('LARGE'),
    invalid(`LARGE_FILE: ${large} is larger than 65536 bytes, the maximum for a secret`),
  );
});

test('an invalid name is never looked up as a file', (t) => {
  const env = createSecretEnv({ HERMES_KEYS_DIR: tempDir(t) });
  for (const name of ['../TOKEN', 'a/b', '', '1A', 'A B']) {
    assert.throws(() => env.read(name), invalid(`"${name}" is not the name of an environment variable`));
  }
});
