import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { smallFleet } from '../../testing/small-fleet.ts';
import { runningProcess } from './pid-file.ts';
import { planFleet } from './plan.ts';
import type { Outcome } from './start.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;
const WORKERS = ['neo', 'morpheus', 'trinity'];

/** What `up` says of the services that it did not leave alone. */
const told = (outcomes: readonly Outcome[]) =>
  outcomes
    .filter(({ reason }) => reason !== undefined)
    .map(({ name, state, reason = '' }) => `${name} ${state}: ${reason.split('\n')[0]}`);

test('up restarts what has changed, one service at a time, workers before switch before the console', {
  skip,
}, async (t) => {
  const { plan, entryPoint, up } = smallFleet(t);
  const notes = join(dirname(entryPoint), 'notes');
  await up({ NOTES: notes });
  assert.deepEqual(told(await up({ NOTES: notes })), []);
  writeFileSync(notes, '');

  // Only the fleet.yaml of the workers names this variable.
  assert.deepEqual(
    told(await up({ NOTES: notes, DRAIN_S: '1' })),
    WORKERS.map((name) => `${name} restarted: its environment changed`),
  );
  assert.equal(readFileSync(notes, 'utf8'), WORKERS.map((name) => `-${name} +${name} `).join(''));
  writeFileSync(notes, '');

  appendFileSync(entryPoint, '// changed');
  const all = ['trader', 'switch', ...WORKERS, 'console'];
  const before = runningProcess(plan.runDir, 'neo');
  assert.deepEqual(
    told(await up({ NOTES: notes, DRAIN_S: '1' }, { withRestarts: false })),
    all.map((name) => `${name} already running: runs on, although the program changed`),
  );
  assert.deepEqual(runningProcess(plan.runDir, 'neo'), before);
  assert.deepEqual(
    told(await up({ NOTES: notes, DRAIN_S: '1' })),
    all.map((name) => `${name} restarted: the program changed`),
  );
  const order = ['trader', ...WORKERS, 'switch', 'console'];
  assert.equal(readFileSync(notes, 'utf8'), order.map((name) => `-${name} +${name} `).join(''));
});

test('NATS restarts before all others in the folder to which the fleet was moved', { skip }, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const dir = `${plan.dir}-moved`;
  const moved = planFleet({ root: plan.root, dir, portOffset: plan.portOffset });
  renameSync(plan.dir, dir);
  try {
    const outcomes = await up({}, { plan: moved });
    assert.equal(told(outcomes)[0], 'nats restarted: its configuration changed');
    assert.deepEqual(new Set(outcomes.map(({ state }) => state)), new Set(['restarted']));
    assert.deepEqual(told(await up({}, { plan: moved })), []);
  } finally {
    renameSync(dir, plan.dir);
  }
});

test('after a service that does not start again, the others run on as they are', { skip }, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const before = runningProcess(plan.runDir, 'morpheus');
  assert.deepEqual(told(await up({ BROKEN: 'neo', LOG_LEVEL: 'debug' })), [
    'trader restarted: its environment changed',
    'switch already running: was not restarted, because neo failed, although its environment changed',
    'neo failed: ended with exit code 3',
    'morpheus already running: was not restarted, because neo failed, although its environment changed',
    'trinity already running: was not restarted, because neo failed, although its environment changed',
    'console already running: was not restarted, because neo failed, although its environment changed',
  ]);
  assert.deepEqual(runningProcess(plan.runDir, 'morpheus'), before);
});

test('a service whose fleet.yaml is invalid is not stopped', { skip }, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const before = runningProcess(plan.runDir, 'neo');
  const failed = (await up({ DRAIN_S: 'soon' })).find(({ state }) => state === 'failed');
  assert.equal(failed?.name, 'neo');
  assert.match(
    failed?.reason ?? '',
    /^runs on as it was started, although its environment changed: .*drain_s/s,
  );
  assert.deepEqual(runningProcess(plan.runDir, 'neo'), before);
});

test('a program refuses the fleet of a newer one before it changes anything, and records its own version', {
  skip,
}, async (t) => {
  const { plan, up } = smallFleet(t);
  const file = join(plan.dir, 'version');
  await up();
  const own = readFileSync(file, 'utf8').trim();
  assert.match(own, /^\d+\.\d+\.\d+$/);
  const before = runningProcess(plan.runDir, 'neo');
  writeFileSync(file, '99.0.0-rc.1\n');
  await assert.rejects(
    up({ LOG_LEVEL: 'debug' }),
    (error: unknown) =>
      error instanceof FleetError &&
      error.message ===
        `the fleet in ${plan.dir} was written by 99.0.0-rc.1, this is ${own}: install 99.0.0-rc.1 or a later one, or restore a backup of ${own}`,
  );
  assert.deepEqual(runningProcess(plan.runDir, 'neo'), before);
  assert.equal(readFileSync(file, 'utf8'), '99.0.0-rc.1\n');
  writeFileSync(file, '0.0.9\n');
  await up();
  assert.equal(readFileSync(file, 'utf8').trim(), own);
  assert.equal(existsSync(`${file}.tmp`), false);
});
