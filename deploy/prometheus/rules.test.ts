import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const skip = spawnSync('promtool', ['--version']).error ? 'promtool is not installed' : false;
const promtool = (...args: string[]): void => {
  const run = spawnSync('promtool', args, { cwd: join(import.meta.dirname, 'rules'), encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout + run.stderr);
};

test('the recording rules are valid, and say what they should of made-up series', { skip }, () => {
  promtool('check', 'rules', 'fleet.rules.yml');
  promtool('test', 'rules', 'fleet.rules.test.yml');
});

test('the Prometheus configuration is valid', { skip }, () => {
  promtool('check', 'config', '--syntax-only', '../prometheus.yml');
});
