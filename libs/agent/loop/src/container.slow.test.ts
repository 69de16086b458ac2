import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMAND_ENV } from '@hermes-fleet/workspace';
import { closedToOthers } from '@hermes-fleet/workspace/testing';

const GATEWAY_UID = '1000';
const RIGHTS = '-all,+setuid,+setgid,+kill';

/** Runs Node with a container's privileges: uid 1000, the commands' group, and ambient SETUID, SETGID and KILL. */
async function asInContainer(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const user = ['--reuid', GATEWAY_UID, '--regid', GATEWAY_UID, '--groups', '1001'];
  const rights = [`--inh-caps=${RIGHTS}`, `--ambient-caps=${RIGHTS}`, `--bounding-set=${RIGHTS}`];
  const child = spawn('setpriv', [...user, ...rights, process.execPath, ...args], {
    cwd: '/',
    env: COMMAND_ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}

test('confinement holds with the privileges of a gateway in a container', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('taking on a container’s privileges needs root');
  const files = ['confinement.test.ts', 'conversation/interrupt.test.ts', 'agent.test.ts'];
  const paths = files.map((file) => join(import.meta.dirname, file));
  const closed = closedToOthers(import.meta.filename);
  if (closed) return t.skip(closed);
  const { code, output } = await asInContainer(['--test', '--test-reporter=tap', ...paths]);
  assert.equal(code, 0, output);
  assert.match(output, /^\s*ok \d+ - a command reads neither .* \(uid\)$/m);
  assert.match(output, /# skipped 5\n/);
});
