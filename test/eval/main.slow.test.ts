import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, runProgram } from '../support/fleet.ts';
import { startModelServer } from '../support/model-server.ts';
import { BRIEFS } from './brief-sweep.ts';

const MAIN = join(ROOT, 'test/eval/main.ts');

/** Runs the program without a model in its environment. */
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const none = { MODEL: '', BASE_URL: '', API_KEY_ENV: '', CONFIG: '' };
  return runProgram(process.execPath, [MAIN, ...args], { env: { ...process.env, ...none, ...env } });
};

test('the program prints a table, writes JSON, and its exit code says whether all briefs pass', async (t) => {
  const dir = tempDir(t, { prefix: 'eval-test-' });
  const json = join(dir, 'results.json');
  const good = await run(['--only', 'write-a-file,edit-a-file', '--parallel', '2', '--json', json]);
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.match(
    good.stdout,
    /^offline\/runbook, 2 briefs\n\nbrief +outcome +status +tokens +steps +compact +s {2}guards\n/,
  );
  assert.match(good.stdout, /^write-a-file +pass +done +\d+ +\d+ +0 +\d+\.\d/m);
  assert.match(good.stdout, /^total .*interventions\n2 passed, 0 failed\n$/m);
  const { model, totals, briefs } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual(
    [model, totals.passed, briefs.map(({ name }: { name: string }) => name)],
    ['offline/runbook', 2, ['edit-a-file', 'write-a-file']],
  );

  const liar = await startModelServer(t, 'Done.', { input: 500, output: 10 });
  const choice = { MODEL: 'openai-compatible/liar', BASE_URL: liar.url };
  const bad = await run(['--only', 'write-a-file'], choice);
  assert.equal(bad.code, 1, bad.stdout + bad.stderr);
  assert.match(bad.stdout, /^write-a-file +fail +done .*\n(?: {4}.*\n)* {4}greeting\.txt does not exist$/m);
  assert.match(bad.stdout, /0 passed, 1 failed\n$/);
});

test('the program takes the model of a profile and refuses invalid options', async () => {
  const profile = join(ROOT, 'deploy/profiles/neo/config.yaml');
  const one = await run(['--config', profile, '--only', 'write-a-file', '--json', '-']);
  assert.deepEqual([one.code, JSON.parse(one.stdout).model], [0, 'offline/runbook'], one.stderr);
  assert.match((await run(['--help'])).stdout, /^Usage: node test\/eval\/main\.ts/);
  const list = (await run(['--list'])).stdout;
  assert.equal(list.trim().split('\n').length, BRIEFS.length);
  assert.match(list, /^large-file \(script\): one function .*\n(?:.*\n)*write-a-file: a file/m);
  const played = await run(['--only', 'document-from-code']);
  assert.match(played.stdout, /^offline\/runbook, 1 briefs \(1 of them played from their scripts\)\n/);
  assert.equal(played.code, 0, played.stdout);
  for (const [args, says] of [
    [['--only', 'nope'], /there is no brief nope; see --list/],
    [['--parallel', '0'], /--parallel 0: must be a number from 1 to 16/],
    [['--nope'], /Unknown option '--nope'.*see --help/s],
    [['--model', 'nope'], /"nope" names no model/],
    [['--model', 'anthropic/x'], /ANTHROPIC_API_KEY, which is not set/],
  ] as const) {
    const { code, stderr } = await run(args, { ANTHROPIC_API_KEY: '' });
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
});
