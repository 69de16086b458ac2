import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { composeProject } from '../support/compose.ts';
import { openLink } from '../support/console.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { resultOf } from '../support/rpc.ts';

const NOT_COMMITTED = new Set(['node_modules', '.git', '.fleet', '.cache']);

test('make up in a fresh checkout: Grafana cannot be had, the fleet runs, and the printed curl works', {
  skip: withoutEngine(),
  timeout: 540_000,
}, async (t) => {
  const { env } = composeProject(t, { FLEET_MODE: 'docker', GRAFANA_IMAGE: 'localhost:1/none:0' });
  const checkout = tempDir(t);
  cpSync(ROOT, checkout, { recursive: true, filter: (file) => !NOT_COMMITTED.has(basename(file)) });
  const make = (target: string, more: NodeJS.ProcessEnv = {}) =>
    runProgram('make', ['--silent', target], { cwd: checkout, env: { ...env, ...more }, timeoutMs: 300_000 });

  const up = await make('up');
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(up.stdout, /^starting the fleet in containers$/m);
  assert.match(up.stdout, /^the fleet runs without Grafana: .*localhost:1/m);
  assert.doesNotMatch(
    up.stderr,
    /pull access denied|(Warning|Error)\s*$/m,
    'the image that is built here is not pulled',
  );
  for (const name of ['switch', 'neo', 'morpheus', 'trinity', 'trader', 'console', 'prometheus'])
    assert.match(up.stdout, new RegExp(`^ +${name} +http://127\\.0\\.0\\.1:\\d+$`, 'm'));

  await t.test('the printed curl, pasted into a shell somewhere else, answers done', async () => {
    const curl = up.stdout.slice(up.stdout.indexOf('\ncurl '));
    const pasted = await runProgram('bash', ['-c', curl], { cwd: tmpdir(), env });
    assert.equal(pasted.code, 0, pasted.stderr);
    const result = resultOf(JSON.parse(pasted.stdout).result?.task);
    assert.equal(result?.status, 'done', pasted.stdout);
    assert.deepEqual(result.artifacts.files_changed, ['hello.txt']);
  });

  await t.test('the printed link opens the console once, and make console prints another', async () => {
    const printed = /^ {2}(http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+)$/m.exec(up.stdout)?.[1] ?? '';
    assert.equal((await openLink(printed)).status, 303);
    assert.equal((await openLink(printed)).browser, undefined);
    const other = await make('console');
    assert.equal(other.code, 0, other.stderr);
    assert.equal((await openLink(other.stdout.trim())).status, 303);
    const doctor = await make('doctor', { ARGS: '--profile console' });
    assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
  });

  await t.test('make token prints the token and nothing else, make ps what runs', async () => {
    const token = await make('token');
    assert.equal(token.code, 0, token.stderr);
    assert.match(token.stdout, /^[\w-]{43}\n$/);
    const ps = await make('ps');
    assert.equal(ps.code, 0, ps.stderr);
    for (const name of ['switch', 'nats', 'prometheus'])
      assert.match(ps.stdout, new RegExp(`^${name} +ready `, 'm'));
  });

  await t.test('a port that is in use is named, and the exit code is not 0', async (t) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const address = server.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const failed = await make('up', { SWITCH_PORT: port });
    assert.notEqual(failed.code, 0);
    assert.match(
      failed.stderr,
      new RegExp(`^port ${port} of switch is in use by node \\(pid ${process.pid}\\)`, 'm'),
    );
    assert.match(failed.stderr, /^nothing was started: .*SWITCH_PORT=\d+ make up$/m);
  });

  await t.test('the fleet runs without the console where its port is in use, and says so', async (t) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const address = server.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const without = await make('up', { CONSOLE_PORT: port });
    assert.equal(without.code, 0, without.stderr);
    assert.match(without.stdout, new RegExp(`^the fleet runs without the console: .*${port}.*in use`, 'm'));
    assert.doesNotMatch(without.stdout, /login\?code/);
    assert.notEqual((await make('console')).code, 0);
  });

  await t.test('make down leaves no container', async () => {
    const down = await make('down');
    assert.equal(down.code, 0, down.stderr);
    const left = await runProgram('docker', ['compose', 'ps', '--all', '--quiet'], { cwd: checkout, env });
    assert.equal(left.stdout, '');
  });
});
