import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { withoutPrometheus } from '../../deploy/grafana/src/testing/prometheus-server.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { freeOffset } from '../support/ports.ts';
import { resultOf } from '../support/rpc.ts';

const COPIED = [
  'deploy',
  'libs',
  'services',
  'Makefile',
  'fleet',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

/** Prometheus, where it is installed. */
const BESIDE = withoutPrometheus ? 0 : 1;

test('the quick start of the README, without containers, at a path with spaces: up, the printed curl, ps, token, down', async (t) => {
  let down = async (): Promise<unknown> => undefined;
  const copy = tempDir(t, { prefix: 'hermes quick start ', closeFirst: () => down() });
  for (const name of COPIED)
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  // Hard links, where the file system allows them: a real folder of its own, so that nothing can change ours.
  const modules = [join(ROOT, 'node_modules'), join(copy, 'node_modules')];
  if ((await runProgram('cp', ['-al', ...modules])).code !== 0) {
    rmSync(join(copy, 'node_modules'), { recursive: true, force: true });
    assert.equal((await runProgram('cp', ['-a', ...modules], { timeoutMs: 120_000 })).code, 0);
  }
  const env = {
    ...process.env,
    FLEET_MODE: 'process',
    FLEET_PORT_OFFSET: String(await freeOffset()),
    // No later run has files at these paths: what is kept of them goes with them.
    NODE_COMPILE_CACHE: join(copy, '.cache'),
  };
  const make = (target: string) =>
    runProgram('make', ['-s', '-C', copy, target], { env, cwd: tmpdir(), timeoutMs: 120_000 });
  down = () => make('down');

  const up = await make('up');
  assert.equal(up.code, 0, up.stdout + up.stderr);
  for (const name of ['switch', 'neo', 'morpheus', 'trinity', 'trader', 'console', 'nats'])
    assert.match(up.stdout, new RegExp(`${name} +\\S+://`));
  assert.equal(/^ {2}prometheus +http:\/\/127\.0\.0\.1:\d+$/m.test(up.stdout), BESIDE === 1, up.stdout);
  assert.match(up.stdout, /^ {2}http:\/\/127\.0\.0\.1:\d+\/login\?code=[\w-]+$/m);
  const curl = up.stdout.slice(up.stdout.indexOf('\ncurl '));
  const pasted = await runProgram('bash', ['-c', curl], { env, cwd: tmpdir() });
  assert.equal(pasted.code, 0, pasted.stderr);
  assert.equal(resultOf(JSON.parse(pasted.stdout).result.task).status, 'done', pasted.stdout);

  const again = await make('up');
  assert.equal(again.code, 0, again.stderr);
  assert.equal([...again.stdout.matchAll(/already running/g)].length, 7 + BESIDE, again.stdout);
  const ps = await make('ps');
  assert.equal([...ps.stdout.matchAll(/ ready /g)].length, 7 + BESIDE, ps.stdout);
  assert.match((await make('token')).stdout, /^[\w-]{43}\n$/);

  const stopped = await make('down');
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.equal([...stopped.stdout.matchAll(/ stopped/g)].length, 7 + BESIDE, stopped.stdout);
});
