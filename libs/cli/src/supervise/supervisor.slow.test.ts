import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock as clock } from '@hermes-fleet/protocol/ports';
import { smallFleet } from '../../testing/small-fleet.ts';
import { memberCommands } from '../local/commands.ts';
import { fleetDown } from '../local/down.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { processIdentity, runningProcess } from '../local/pid-file.ts';
import { type FleetPlan, SUPERVISOR } from '../local/plan.ts';
import type { ProcessStatus } from '../local/ready.ts';
import { startProcess } from '../local/start-process.ts';
import { readRestarts } from './restarts.ts';
import { startSupervisor, stopSupervisor } from './start-supervisor.ts';
import { supervisedStatus } from './status.ts';
import { supervise } from './supervise.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;
const SECRET = 'a-key-of-a-provider';

/** A small fleet with its supervisor, as the command `up` makes it. */
async function supervisedFleet(t: TestContext) {
  const { plan, entryPoint, up } = smallFleet(t, (planned) => stopSupervisor(planned, clock));
  const env = { GROQ_API_KEY: SECRET };
  const upWithSupervisor = async () => {
    await stopSupervisor(plan, clock);
    const outcomes = await up(env, { isSupervised: true });
    const started = { plan, env: { ...process.env, ...env, PROMETHEUS_BIN: '' }, clock, entryPoint };
    assert.equal(await startSupervisor(started), undefined);
    return outcomes;
  };
  await upWithSupervisor();
  return { plan, entryPoint, up: upWithSupervisor };
}

const pidOf = (plan: FleetPlan, name: string): number =>
  runningProcess(plan.runDir, name)?.pid ?? assert.fail(`${name} does not run`);

function kill(plan: FleetPlan, name: string): number {
  const pid = pidOf(plan, name);
  process.kill(pid, 'SIGKILL');
  return pid;
}

/** Resolves with what `look` finds. */
async function found<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const giveUpAt = Date.now() + 60_000; ; await clock.sleep(50)) {
    const value = await look();
    if (value !== undefined) return value;
    if (Date.now() > giveUpAt) assert.fail('nothing was found within a minute');
  }
}

const restarted = (plan: FleetPlan, name: string, before: number): Promise<number> =>
  found(() => {
    const pid = runningProcess(plan.runDir, name)?.pid;
    return pid === before ? undefined : pid;
  });

const readyAgain = (plan: FleetPlan, name: string) =>
  found(async () =>
    (await supervisedStatus(plan)).find((each) => each.name === name && each.state === 'ready'),
  );

test('a service and NATS that were killed run again as they were started, and no file has their environment', {
  skip,
}, async (t) => {
  const { plan } = await supervisedFleet(t);
  for (const name of ['neo', 'nats']) {
    await restarted(plan, name, kill(plan, name));
    assert.match((await readyAgain(plan, name)).detail ?? '', /^restarted once, last at 20/);
  }
  const { stdout } = spawnSync('sh', ['-c', `tr '\\0' '\\n' </proc/${pidOf(plan, 'neo')}/environ`], {
    encoding: 'utf8',
  });
  assert.match(stdout, new RegExp(`^GROQ_API_KEY=${SECRET}$`, 'm'));
  assert.equal(spawnSync('grep', ['-rl', SECRET, plan.dir], { encoding: 'utf8' }).stdout, '');
});

test('down within a restart leaves no process, and a second supervisor ends the first', {
  skip,
}, async (t) => {
  const { plan, up } = await supervisedFleet(t);
  const first = pidOf(plan, SUPERVISOR);
  await up();
  assert.equal(processIdentity(first), undefined);
  const pids = plan.processes.map(({ name }) => pidOf(plan, name));
  const supervisor = pidOf(plan, SUPERVISOR);
  kill(plan, 'trinity');
  kill(plan, 'neo');
  {
    using _lock = lockFolder(plan.dir, 'fleet down');
    await stopSupervisor(plan, clock);
    await fleetDown({ plan, clock, graceMs: 2_000 });
  }
  for (const pid of [...pids, supervisor]) assert.equal(processIdentity(pid), undefined);
  const status = await supervisedStatus(plan);
  assert.deepEqual(new Set(status.map(({ state }) => state)), new Set(['down']));
  assert.equal(spawnSync('pgrep', ['-f', plan.dir], { encoding: 'utf8' }).stdout, '');
});

test('a service whose program has changed since up stays down, and ps names the remedy', {
  skip,
}, async (t) => {
  const { plan, entryPoint } = await supervisedFleet(t);
  appendFileSync(entryPoint, '// changed');
  kill(plan, 'neo');
  const isLeft = ({ name, state }: ProcessStatus) => name === 'neo' && state === 'down';
  await found(() => readRestarts(plan.runDir)?.neo?.failedAt);
  const shown = (await supervisedStatus(plan)).find(isLeft);
  assert.match(shown?.detail ?? '', /^down since 20.*, and the program has changed: run make up$/);
});

test('a supervisor that was killed is shown as down, restarts nothing, and is back after up', {
  skip,
}, async (t) => {
  const { plan, up } = await supervisedFleet(t);
  assert.equal((await supervisedStatus(plan)).at(-1)?.state, 'ready');
  kill(plan, SUPERVISOR);
  const isDown = () =>
    found(async () => (await supervisedStatus(plan)).find(({ state }) => state === 'down'));
  const { name, detail } = await isDown();
  assert.deepEqual([name, detail], [SUPERVISOR, 'does not run, so nothing is restarted: up starts it again']);
  const before = kill(plan, 'neo');
  const outcomes = await up();
  assert.equal(outcomes.find((each) => each.name === 'neo')?.state, 'started');
  assert.notEqual(pidOf(plan, 'neo'), before);
  await restarted(plan, 'neo', kill(plan, 'neo'));
});

/** The delays of a supervisor in a fiftieth of their time. */
const FASTER = 50;
const fastClock: Clock = {
  ...clock,
  monotonic: () => clock.monotonic() * FASTER,
  sleep: (ms, signal) => clock.sleep(ms / FASTER, signal),
};

test('a service whose configuration has become invalid ends five times more, then stays down; ps and up say so with its log', {
  skip,
}, async (t) => {
  const { plan, entryPoint, up } = smallFleet(t);
  await up();
  const env = { ...process.env, BROKEN: 'neo' };
  const neo = plan.profiles.find(({ name }) => name === 'neo') ?? assert.fail('there is no neo');
  const command = memberCommands({ plan, env, entryPoint })(neo);
  const [stop, said]: [AbortController, string[]] = [new AbortController(), []];
  kill(plan, 'neo');
  const ended = supervise({
    dir: plan.dir,
    runDir: plan.runDir,
    processes: [{ name: 'neo', logFile: neo.logFile, command }],
    clock: fastClock,
    signal: stop.signal,
    isInCharge: () => true,
    isCurrent: () => true,
    start: (each) => startProcess(plan.runDir, neo, each.command),
    say: (line) => said.push(line),
  });
  await found(() => readRestarts(plan.runDir)?.neo?.failedAt);
  const after = said.length;
  await fastClock.sleep(60_000);
  stop.abort();
  await ended;
  assert.equal(said.length, after);
  assert.equal(readFileSync(neo.logFile, 'utf8').match(/no config for neo/g)?.length, 5);
  const { state, detail, logFile } =
    (await supervisedStatus(plan)).find(({ name }) => name === 'neo') ?? assert.fail('neo is not shown');
  assert.deepEqual([state, logFile], ['failed', neo.logFile]);
  assert.match(
    detail ?? '',
    /^restarted 5 times, and died each time; down since 20.*: its log says why, up starts it again$/,
  );
  await stopSupervisor(plan, clock);
  const failed = (await up({ BROKEN: 'neo' })).find(({ name }) => name === 'neo');
  assert.equal(failed?.state, 'failed');
  assert.match(failed?.reason ?? '', /^ended with exit code 3\n--- .*neo\.log\n.*no config for neo/s);
  const shown = (await supervisedStatus(plan)).find(({ name }) => name === 'neo');
  assert.deepEqual([shown?.state, shown?.detail], ['down', 'has died: its log says why']);
});
