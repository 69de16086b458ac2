import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLink } from '../support/console.ts';
import { PROFILES, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');

test('the console of a fleet opens once by its link, shows what the bus has, and is no part of the fleet', async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader', 'console']);
  const run = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  const printed = await run('console');
  assert.equal(printed.code, 0, printed.stderr);
  const link = printed.stdout.trim();
  assert.ok(link.startsWith(`${fleet.plan.console.url}/login?code=`), link);

  const { status, browser } = await openLink(link);
  assert.equal(status, 303);
  assert.ok(browser);
  assert.equal((await openLink(link)).browser, undefined);

  const { id } = JSON.parse((await run('send', 'Say hello.', '--to', 'neo', '-o', 'json')).stdout);
  const hasTask = async () => {
    const { tasks } = await browser.json('/api/tasks');
    return (
      Array.isArray(tasks) && tasks.some((task) => task.id === id && /^(done|partial)$/.test(task.state))
    );
  };
  await until(hasTask, 'the end of the task');

  const doctor = await run('doctor', '--profile', 'console', '--json');
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
  const { findings } = JSON.parse(doctor.stdout);
  const checks = findings.map(({ subject, check, state }: Record<string, string>) =>
    [subject, check, state].join(' '),
  );
  assert.deepEqual(checks, [
    ...['configuration files ok', 'configuration keys ok'],
    ...['nats stream FLEET ok', 'nats stream FLEET_ANNOUNCE ok', 'nats stream FLEET_AUDIT ok'],
    ...['switch', 'neo', 'morpheus', 'trinity', 'trader'].map((name) => `${name} address ok`),
    'console ready ok',
  ]);
  assert.match((await run('console', 'rebuild')).stdout, /it reaches back to \d{4}-/);
  assert.ok(await hasTask(), 'the rebuilt read model has no task');

  const rows = (await run('local', 'ps')).stdout.split('\n');
  assert.match(rows.find((row) => row.startsWith('console')) ?? '', / ready /);
  await fleet.kill('console');
  assert.equal(
    JSON.parse((await run('send', 'Again.', '--to', 'neo', '-o', 'json')).stdout).state,
    'completed',
  );
  const away = await run('console');
  assert.match(away.stderr, /console does not answer at .*: make up starts it/);

  await fleet.up();
  const { browser: later } = await openLink((await run('console')).stdout.trim());
  assert.ok(later);
  const hasBoth = async () => Object.values((await later.json('/api/tasks')).tasks ?? {}).length === 2;
  await until(hasBoth, 'both tasks');
  assert.doesNotMatch(
    readFileSync(join(fleet.dir, 'logs/console.log'), 'utf8'),
    /permission|Permissions Violation/i,
  );
});
