import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inboxPrefix } from '@hermes-fleet/events';
import { openConnection } from '@hermes-fleet/events/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { smallFleet } from '../../testing/small-fleet.ts';
import { keyPaths } from '../keys/layout.ts';
import { readSecret } from '../keys/secret-file.ts';
import { supervisedStatus } from '../supervise/status.ts';
import { fleetDown } from './down.ts';
import { reloadNats } from './nats-server.ts';
import { isAlive, processIdentity, recordProcess, runningProcess } from './pid-file.ts';
import { type FleetPlan, planFleet } from './plan.ts';
import { fleetStatus, probe } from './ready.ts';
import { fleetUp } from './up.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;
const root = resolve(import.meta.dirname, '../../../..');

/** The TCP ports that a process listens on. */
function listening(pid: number): number[] {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    return /^socket:\[(\d+)\]$/.exec(target)?.[1];
  });
  const rows = ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, 'utf8').split('\n').slice(1),
  );
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => row[3] === '0A' && sockets.includes(row[9]))
    .map((row) => Number.parseInt(row[1]?.split(':')[1] ?? '', 16));
}

/** A process that is not part of a fleet. */
async function foreignProcess(t: TestContext): Promise<ChildProcess & { pid: number }> {
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("up"); setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  assert.ok(child.stdout && child.pid);
  await once(child.stdout, 'data');
  return Object.assign(child, { pid: child.pid });
}

test('a process is identified by pid and start time until it ends', async (t) => {
  const child = await foreignProcess(t);
  const identity = processIdentity(child.pid);
  assert.ok(identity);
  assert.equal(processIdentity(child.pid), identity);
  assert.notEqual(processIdentity(process.pid), identity);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(processIdentity(child.pid), undefined);
  assert.equal(processIdentity(-1), undefined);
});

test('down leaves a process alone that reuses a recorded pid', async (t) => {
  const dir = tempDir(t);
  const plan = planFleet({ root, dir });
  const child = await foreignProcess(t);
  const recorded = recordProcess(plan.runDir, 'neo', child.pid);
  assert.ok(recorded && isAlive(recorded));
  const file = join(plan.runDir, 'neo.json');
  writeFileSync(file, JSON.stringify({ ...recorded, identity: 'another boot:1' }));
  assert.equal(runningProcess(plan.runDir, 'neo'), undefined);

  const stopped = await fleetDown({ plan, clock });
  assert.deepEqual(new Set(stopped.map(({ state }) => state)), new Set(['was not running']));
  assert.equal(child.exitCode, null);
  assert.ok(processIdentity(child.pid));
  assert.equal(existsSync(file), false);
});

test('up starts what is down and leaves running processes alone; down stops everything', {
  skip,
}, async (t) => {
  const { plan, up } = smallFleet(t);
  const first = await up({ A2A_HERMES_TOKEN_OPERATOR: 'left in the shell' });
  assert.deepEqual(
    first.map(({ state }) => state),
    ['nats', 'trader', 'switch', 'neo', 'morpheus', 'trinity', 'console'].map(() => 'started'),
    JSON.stringify(first),
  );
  const before = await fleetStatus(plan);
  assert.ok(before.every(({ state }) => state === 'ready'));
  const [, ready] = before;
  assert.deepEqual(await (await fetch(`${ready?.url}/ready`)).json(), { secret: null });
  for (const name of ['keys', 'state/neo', 'logs', 'run']) {
    assert.equal(statSync(join(plan.dir, name)).mode & 0o777, 0o700, name);
  }

  const neo = before.find(({ name }) => name === 'neo');
  assert.ok(neo?.pid);
  process.kill(neo.pid, 'SIGKILL');
  const second = await up();
  assert.deepEqual(
    second.map(({ name, state }) => [name, state]),
    [
      ['nats', 'already running'],
      ['trader', 'already running'],
      ['switch', 'already running'],
      ['neo', 'started'],
      ['morpheus', 'already running'],
      ['trinity', 'already running'],
      ['console', 'already running'],
    ],
  );
  const pids = (await fleetStatus(plan)).flatMap(({ pid }) => pid ?? []);
  assert.equal(pids.length, 7);
  const stopped = await fleetDown({ plan, clock });
  assert.deepEqual(
    stopped.map(({ name, state }) => [name, state]),
    [
      ['trinity', 'stopped'],
      ['morpheus', 'stopped'],
      ['neo', 'stopped'],
      ['switch', 'stopped'],
      ['trader', 'stopped'],
      ['console', 'stopped'],
      ['nats', 'stopped'],
    ],
  );
  for (const pid of pids) assert.equal(processIdentity(pid), undefined);
  assert.ok((await fleetStatus(plan)).every(({ state }) => state === 'down'));
});

test('a service that is no member any more is shown, and stopped by up and by down', { skip }, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const isMember = ({ name }: { readonly name: string }) => name !== 'trinity';
  const fewer: FleetPlan = {
    ...plan,
    profiles: plan.profiles.filter(isMember),
    members: plan.members.filter(isMember),
    processes: plan.processes.filter(isMember),
  };
  const shown = (await supervisedStatus(fewer)).find(({ name }) => name === 'trinity');
  const pid = runningProcess(plan.runDir, 'trinity')?.pid ?? assert.fail('trinity does not run');
  assert.deepEqual(
    [shown?.pid, shown?.detail],
    [pid, 'is not in the list of members any more: up or down stops it'],
  );
  const outcomes = await up({}, { plan: fewer });
  assert.deepEqual(
    outcomes.find(({ name }) => name === 'trinity'),
    { name: 'trinity', url: '', state: 'stopped', reason: 'is not in the list of members any more' },
  );
  assert.equal(processIdentity(pid), undefined);
  await up();
  const again = runningProcess(plan.runDir, 'trinity')?.pid ?? assert.fail('trinity does not run');
  const stopped = await fleetDown({ plan: fewer, clock });
  assert.deepEqual(stopped[0], { name: 'trinity', state: 'stopped' });
  assert.equal(processIdentity(again), undefined);
});

test('up lets an added service log in at a NATS server that is already running', {
  skip,
}, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const { natsConfig, variable } = keyPaths(plan.keysDir);
  const current = readFileSync(natsConfig, 'utf8');
  const older = current.replaceAll('user: "trader"', 'user: "nobody"');
  assert.notEqual(older, current);
  chmodSync(natsConfig, 0o600);
  writeFileSync(natsConfig, older);
  await reloadNats(plan, clock);
  const connection = {
    servers: [plan.nats.url],
    user: 'trader',
    pass: readSecret(variable('trader', 'NATS_PASSWORD')) ?? '',
    name: 'trader',
    inboxPrefix: inboxPrefix('trader'),
  };
  await assert.rejects(openConnection(connection, t.signal), /AUTHORIZATION/i);
  await up();
  assert.equal(readFileSync(natsConfig, 'utf8'), current);
  await (await openConnection(connection, t.signal)).close();
});

test('up names the process that failed and shows the end of its log', { skip }, async (t) => {
  const { up, plan } = smallFleet(t);
  const outcomes = await up({ BROKEN: 'morpheus' });
  const [failed, ...others] = outcomes.filter(({ state }) => state === 'failed');
  assert.deepEqual([failed?.name, others], ['morpheus', []]);
  assert.match(failed?.reason ?? '', /exit code 3/);
  assert.match(failed?.reason ?? '', /no config for morpheus/);
  assert.equal(readFileSync(join(plan.dir, 'logs/morpheus.log'), 'utf8').trim(), 'no config for morpheus');
});

test('up starts all members side by side: the first of its list may need the last', { skip }, async (t) => {
  const { up } = smallFleet(t);
  const outcomes = await up({ WAITS_FOR: 'trader>console' });
  assert.deepEqual(
    outcomes.filter(({ state }) => state !== 'started'),
    [],
  );
});

test('a console that does not start leaves the others running', { skip }, async (t) => {
  const { up } = smallFleet(t);
  const outcomes = await up({ BROKEN: 'console' });
  assert.deepEqual(
    outcomes.filter(({ state }) => state === 'failed').map(({ name }) => name),
    ['console'],
  );
  assert.equal(outcomes.length, 7);
});

test('up fails when another program uses the NATS port', { skip }, async (t) => {
  const { up, plan } = smallFleet(t);
  const other = createServer().listen(plan.nats.port, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const [nats] = await up();
  assert.equal(nats?.state, 'failed');
  assert.match(nats?.reason ?? '', new RegExp(`port ${plan.nats.port} is in use`));
});

test('the NATS server of the fleet listens on its client port only', { skip }, async (t) => {
  const { up, plan } = smallFleet(t);
  await up();
  const { pid } = runningProcess(plan.runDir, 'nats') ?? assert.fail('not running');
  assert.deepEqual(listening(pid), [plan.nats.port]);
  const other = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  assert.match((await probe(`nats://127.0.0.1:${port}`)) ?? '', /is not a NATS server/);
  assert.equal(await probe(plan.nats.readyUrl), undefined);
});

test('a configuration that NATS does not accept is named at once', { skip }, async (t) => {
  const { plan, up } = smallFleet(t);
  await up();
  const { natsConfig } = keyPaths(plan.keysDir);
  chmodSync(natsConfig, 0o600);
  writeFileSync(natsConfig, `${readFileSync(natsConfig, 'utf8')}http: "127.0.0.1:1"\n`);
  await assert.rejects(reloadNats(plan, clock), /NATS does not accept its new configuration: make down/);
});

test('the port offset cannot change while a process of the fleet runs', { skip }, async (t) => {
  const { plan } = smallFleet(t);
  const child = await foreignProcess(t);
  mkdirSync(plan.dir, { recursive: true });
  writeFileSync(join(plan.dir, 'fleet.json'), JSON.stringify({ port_offset: plan.portOffset }));
  recordProcess(plan.runDir, 'nats', child.pid);
  const moved = planFleet({ root, dir: plan.dir, portOffset: plan.portOffset + 5 });
  await assert.rejects(
    fleetUp({ plan: moved, env: process.env, clock, log, readyMs: 500 }),
    /take it down first/,
  );
});

test('an unreadable pid file is an error', (t) => {
  const plan = planFleet({ root, dir: tempDir(t) });
  mkdirSync(join(plan.runDir, 'neo.json'), { recursive: true });
  assert.throws(() => runningProcess(plan.runDir, 'neo'), /EISDIR/);
});

test('a process that ignores SIGTERM is killed after the grace period', { skip }, async (t) => {
  const { up, plan } = smallFleet(t);
  await up({ STUBBORN: 'trinity' });
  const stopped = await fleetDown({ plan, clock, graceMs: 500 });
  assert.equal(stopped.find(({ name }) => name === 'trinity')?.state, 'killed');
  assert.equal(stopped.find(({ name }) => name === 'neo')?.state, 'stopped');
});

test('up without a nats-server says what to install', async (t) => {
  const dir = tempDir(t);
  const plan = planFleet({ root, dir: join(dir, 'fleet') });
  await assert.rejects(
    fleetUp({ plan, env: { NATS_SERVER_BIN: join(dir, 'nothing') }, clock, log }),
    (error: unknown) => error instanceof FleetError && /apt-get install nats-server/.test(error.message),
  );
  assert.equal(existsSync(plan.dir), false);
});
