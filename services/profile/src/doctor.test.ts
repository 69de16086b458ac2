import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { examineProfile } from './doctor.ts';
import { readEnvironment } from './environment.ts';

test('a signing key that commands can read is a warning', async (t) => {
  const home = tempDir(t);
  const dir = join(home, 'profiles/neo');
  mkdirSync(dir, { recursive: true });
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, 'key')]);
  writeFileSync(join(dir, 'IDENTITY.md'), '# neo');
  const server = { bind_host: '127.0.0.1', bind_port: 1, auth_required: false };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet: { tier: 'haiku', server } }));
  const environment = readEnvironment(['--profile', 'neo'], { HERMES_HOME: home });
  for (const [confine, states] of [
    ['unconfined', ['warning']],
    ['auto', []],
  ] as const) {
    const workspace = { commit: { signing_key_file: 'key' } };
    const config = { model: 'offline/runbook', tools: { shell: { confine } }, workspace };
    writeFileSync(join(dir, 'config.yaml'), JSON.stringify(config));
    const { ok, findings } = await examineProfile(environment, createSecretEnv({}));
    assert.ok(ok, JSON.stringify(findings));
    const found = findings.filter(({ check }) => check === 'signing key').map(({ state }) => state);
    assert.deepEqual(found, states);
  }
});
