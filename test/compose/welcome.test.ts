import assert from 'node:assert/strict';
import { test } from 'node:test';
import { composeProject } from '../support/compose.ts';
import { withoutEngine } from '../support/engine.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { freeOffset } from '../support/ports.ts';
import { resultOf } from '../support/rpc.ts';

test('plain docker compose up ends with addresses, a link to the console and a curl that works', {
  skip: withoutEngine(),
  timeout: 540_000,
}, async (t) => {
  const offset = await freeOffset();
  const names = ['switch', 'neo', 'morpheus', 'trinity', 'trader', 'console'];
  const at = (index: number): string => String(9219 + offset + index);
  const { env } = composeProject(t, {
    COMPOSE_PROFILES: 'welcome',
    ...Object.fromEntries(names.map((name, index) => [`${name.toUpperCase()}_PORT`, at(index)])),
  });
  const docker = (...args: string[]) =>
    runProgram('docker', ['compose', ...args], { cwd: ROOT, env, timeoutMs: 400_000 });
  const up = await docker('up', '--build', '--detach', '--wait');
  assert.equal(up.code, 0, up.stderr);
  const logs = await docker('logs', '--no-log-prefix', '--no-color', 'welcome');
  // Compose clears each line of a terminal before it writes the line.
  const stdout = logs.stdout.replaceAll('\u001b[2K', '');
  for (const [index, name] of names.entries())
    assert.match(stdout, new RegExp(` ${name} +http://127\\.0\\.0\\.1:${at(index)}$`, 'm'));

  const link = /http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+/.exec(stdout)?.[0] ?? '';
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 303, stdout);

  const pasted = await runProgram('bash', ['-c', stdout.slice(stdout.indexOf('curl -sS'))], {
    cwd: ROOT,
    env,
  });
  assert.equal(pasted.code, 0, pasted.stderr);
  assert.equal(resultOf(JSON.parse(pasted.stdout).result?.task).status, 'done', pasted.stdout);
});
