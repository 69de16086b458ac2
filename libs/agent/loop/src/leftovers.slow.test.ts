import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { killLeftovers, processSpace, processState } from '@hermes-fleet/workspace';
import { cannotConfine, makePlace, mayChangeUsers, type Place } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import type { AgentConfig } from './config/config-yaml.ts';

type Confine = AgentConfig['tools']['shell']['confine'];

const moduleAt = (path: string): string => pathToFileURL(join(import.meta.dirname, path)).href;

/** A process that acts as a gateway: creates an agent and runs a task. */
function startGateway(t: TestContext, place: Place, confine: Confine, script: string): ChildProcess {
  const source = `
    import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
    import { createAgent } from '${moduleAt('agent.ts')}';
    import { AgentConfigSchema } from '${moduleAt('config/config-yaml.ts')}';
    import { loopExecutor } from '${moduleAt('executor/loop-executor.ts')}';
    import { block, makeContext, makeTask } from '${moduleAt('../testing/harness.ts')}';
    import { silentLog } from '@hermes-fleet/protocol/testing';
    const agent = await createAgent({
      config: AgentConfigSchema.parse({ tools: { shell: { confine: '${confine}' } } }), executor: loopExecutor,
      profile: { name: 'neo', tier: 'haiku' }, place: ${JSON.stringify(place)}, observe: { log: silentLog },
      runtime: { env: { read: () => undefined }, clock: systemClock, ids: systemIds },
    });
    await agent.executor.run(makeTask(block('sh', ${JSON.stringify(script)})), makeContext());`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** Reads a pipe. `over` resolves once no writer is left. */
function readerOf(t: TestContext, pipe: string) {
  const cat = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => cat.kill('SIGKILL'));
  let isOver = false;
  const over = once(cat, 'close').then(() => (isOver = true));
  return { beat: () => once(cat.stdout, 'data'), over, isOver: () => isOver };
}

/** Processes that detach from the command in every possible manner, each writing to its own pipe. */
const FAMILY = ['group', 'session', 'double', 'nohup', 'both'] as const;
const BEATS = `trap '' TERM HUP; exec > .scratch/"$1"; while :; do echo x; sleep 0.05; done`;
const SCRIPT = `
  beats=$(cat .scratch/beats)
  sh -c "$beats" sh group &
  setsid sh -c "$beats" sh session &
  ( ( sh -c "$beats" sh double & ) & )
  nohup sh -c "$beats" sh nohup >/dev/null 2>&1 &
  ( setsid nohup sh -c "$beats" sh both >/dev/null 2>&1 & )
  read -r line < .scratch/leader; echo "$line"`;

const CASES = [
  ['bubblewrap', 'still runs'],
  ['uid', 'still runs'],
  ['uid', 'has ended'],
  ['unconfined', 'still runs'],
  ['unconfined', 'has ended'],
] as const;

for (const [confine, leader] of CASES) {
  test(`the next start ends all processes of a killed gateway (${confine}, the command ${leader})`, {
    skip: confine === 'unconfined' ? false : cannotConfine(confine),
    timeout: 120_000,
  }, async (t) => {
    const place = makePlace(t);
    const config = { tools: { shell: { confine } } };
    const first = await makeAgent(t, config, { place });
    const pipes = [...FAMILY, 'leader'].map((name) => `.scratch/${name}`).join(' ');
    const prepare = `mkdir -p .scratch; mkfifo -m 666 ${pipes}\ncat > .scratch/beats <<'X'\n${BEATS}\nX`;
    const prepared = await first.executor.run(makeTask(block('sh', prepare)), makeContext());
    assert.equal(prepared.status, 'done', JSON.stringify(prepared));
    await first.close();
    const scratch = join(place.workspaceRoot, 'contexts/context-1/tree/.scratch');
    const readers = FAMILY.map((name) => readerOf(t, join(scratch, name)));
    const gateway = startGateway(t, place, confine, SCRIPT);
    await Promise.all(readers.map(({ beat }) => beat()));
    const records = join(place.stateDir, 'commands');
    const recorded = readdirSync(records);
    assert.equal(recorded.length, 1);
    const { pid } = JSON.parse(readFileSync(join(records, recorded[0] ?? ''), 'utf8').split('\n')[1] ?? '');
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    // Bubblewrap's processes die with their parent; the others survive it.
    if (confine === 'bubblewrap') await Promise.all(readers.map(({ over }) => over));
    else {
      await Promise.all(readers.map(({ beat }) => beat()));
      if (leader === 'has ended') {
        writeFileSync(join(scratch, 'leader'), 'end\n');
        while (processState(pid)?.alive) await systemClock.sleep(20);
        await Promise.all(readers.map(({ beat }) => beat()));
      }
    }
    const started = performance.now();
    const next = await makeAgent(t, config, { place });
    await Promise.all(readers.map(({ over }) => over));
    t.diagnostic(`gone and started in ${Math.round(performance.now() - started)} ms`);
    assert.equal(processState(pid)?.alive ?? false, false);
    assert.deepEqual(readdirSync(records), []);
    const again = await next.executor.run(makeTask(block('sh', 'true')), makeContext());
    assert.equal(again.status, 'done');
  });
}

/** An unrelated process. */
async function bystander(t: TestContext, env: Record<string, string> = {}) {
  const child = spawn('sleep', ['600'], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const { pid } = child;
  const start = processState(pid ?? 0)?.start;
  assert.ok(pid !== undefined && start !== undefined);
  return { pid, start, child, isAlive: () => processState(pid)?.alive === true };
}

function recordsOf(t: TestContext) {
  const dir = join(makePlace(t).stateDir, 'commands');
  mkdirSync(dir);
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) };
  return {
    dir,
    warned,
    put: (...lines: readonly (object | string)[]): string => {
      const name = systemIds.uuid();
      const text = lines
        .map((line) => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`))
        .join('');
      writeFileSync(join(dir, name), text);
      return name;
    },
    start: () => killLeftovers(dir, { clock: systemClock, log }),
  };
}

/** A gateway that does not exist any more. */
const DEAD = { pid: 2 ** 22 + 1, start: '1' };

test('a process is killed only if it is certainly the recorded one', async (t) => {
  const { dir, put, start } = recordsOf(t);
  const space = processSpace();
  const opened = { space, gateway: DEAD };
  const ours = await bystander(t);
  put(opened, { pid: ours.pid, start: ours.start });
  const reused = await bystander(t);
  put(opened, { pid: reused.pid, start: String(BigInt(reused.start) - 1n) });
  const otherBoot = await bystander(t);
  put({ ...opened, space: `${space}x` }, { pid: otherBoot.pid, start: otherBoot.start });
  const unknown = await bystander(t);
  put(opened, { pid: unknown.pid });
  const living = await bystander(t);
  const self = { pid: process.pid, start: processState(process.pid)?.start };
  const kept = put({ space, gateway: self }, { pid: living.pid, start: living.start });
  const ended = once(ours.child, 'exit');
  await start();
  await ended;
  for (const other of [reused, otherBoot, unknown, living]) assert.equal(other.isAlive(), true);
  assert.deepEqual(readdirSync(dir), [kept], 'records of a running gateway are left alone');
});

test('the processes of a truncated record are found by their environment', async (t) => {
  const { dir, put, start, warned } = recordsOf(t);
  const name = put('');
  const marked = await bystander(t, { FLEET_COMMAND_ID: name });
  const other = await bystander(t, { FLEET_COMMAND_ID: systemIds.uuid() });
  const ended = once(marked.child, 'exit');
  await start();
  await ended;
  assert.equal(other.isAlive(), true);
  assert.deepEqual(readdirSync(dir), []);
  assert.deepEqual(warned, ['a command that a crash left running was ended']);
});

test('the group of another gateway with the same process ID is left alone', async (t) => {
  if (!mayChangeUsers) return t.skip('this user may not change groups');
  const { put, start } = recordsOf(t);
  const gid = 500_000_000 + 7;
  const inGroup = async () => {
    const child = spawn('setpriv', ['--groups', String(gid), 'sleep', '600'], {
      detached: true,
      stdio: 'ignore',
    });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const { pid = 0 } = child;
    while (!/sleep/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) await systemClock.sleep(5);
    return child;
  };
  const ours = await inGroup();
  const isAsOld = ({ start }: { start: string }): boolean => processState(ours.pid ?? 0)?.start === start;
  let successor = await bystander(t);
  // The kernel counts start times in hundredths of a second.
  while (isAsOld(successor)) successor = await bystander(t);
  const theirs = await inGroup();
  put({ space: processSpace(), gateway: { pid: successor.pid, start: '1' }, gid });
  const ended = once(ours, 'exit');
  await start();
  await ended;
  assert.equal(processState(theirs.pid ?? 0)?.alive, true);
});

test('entries that are not records are left alone and logged', async (t) => {
  const { dir, put, start, warned } = recordsOf(t);
  const outside = join(dir, '..', 'token');
  symlinkSync(outside, join(dir, systemIds.uuid()));
  mkdirSync(join(dir, systemIds.uuid()));
  writeFileSync(join(dir, 'notes.txt'), 'x');
  const huge = join(dir, put(''));
  truncateSync(huge, 10 ** 9);
  await start();
  assert.equal(readdirSync(dir).length, 4);
  assert.equal(warned.length, 4);
  assert.ok(existsSync(outside));
});
