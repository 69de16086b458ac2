import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine, closedToOthers } from '@hermes-fleet/workspace/testing';
import { attackFromWithin, type Mode } from '../support/inside.ts';
import { startProfile } from '../support/lone-profile.ts';

const isRoot = process.getuid?.() === 0;
const PLAIN = 1500;
const SECRET = 'the-secret-of-root';

/** Puts a key into a session keyring of its own, and runs what follows with it. */
const WITH_KEY =
  'syscall(250, 1, 0); my ($type, $name, $key) = ("user", "hermes-secret", "key"); syscall(248, $type, $name, $key, 3, -3) > 0 or die "no key: $!"; exec @ARGV';

const MODES: readonly {
  readonly mode: Mode;
  readonly gateway: string;
  readonly becomes?: readonly string[];
  readonly network?: object;
  readonly skip: string | false;
}[] = [
  { mode: 'bubblewrap', gateway: 'root', skip: isRoot ? false : 'needs root' },
  {
    mode: 'bubblewrap with named hosts',
    gateway: 'root',
    network: { allow: ['packages.example.org'] },
    skip: isRoot ? false : 'needs root',
  },
  {
    mode: 'bubblewrap',
    gateway: 'a user',
    becomes: ['setpriv', `--reuid=${PLAIN}`, `--regid=${PLAIN}`, '--clear-groups', '--inh-caps=-all'],
    skip: isRoot
      ? closedToOthers(import.meta.filename)
      : 'needs root, to start it with files that a user cannot read',
  },
];

for (const { mode, gateway, becomes = [], network = 'full', skip } of MODES)
  test(`nothing leaves the sandbox: ${mode}, with a gateway of ${gateway}`, {
    skip: cannotConfine('bubblewrap') || skip,
    timeout: 300_000,
  }, async (t) => {
    const dir = tempDir(t);
    const [secret, log] = [join(dir, 'secret'), join(dir, 'log')];
    writeFileSync(secret, SECRET, { mode: 0o600 });
    writeFileSync(log, '', { mode: 0o600 });
    chmodSync(dir, 0o755);
    const profile = await startProfile(t, {
      config: {
        tools: { shell: { confine: 'bubblewrap', network, limits: { memory_mb: 512 } } },
        hooks: { compactSuccessOutput: false },
      },
      startedBy: [
        ...['bash', '-c', `exec 63<${secret} 200>>${log}; exec "$@"`, 'bash'],
        ...['perl', '-e', process.arch === 'x64' ? WITH_KEY : 'exec @ARGV'],
        ...becomes,
        ...(becomes.length > 0 ? ['env', `PATH=${process.env.PATH}`] : []),
      ],
      ...(becomes.length > 0 ? { owner: PLAIN } : {}),
    });
    await attackFromWithin(t, profile, { mode, gateway: profile.pid });
    assert.equal(readFileSync(log, 'utf8'), '');
  });
