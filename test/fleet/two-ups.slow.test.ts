import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { runningProcess } from '../../libs/cli/src/local/pid-file.ts';
import { type FleetPlan, planFleet } from '../../libs/cli/src/local/plan.ts';
import { freeOffset } from '../support/ports.ts';

const root = resolve(import.meta.dirname, '../..');
const MINUTES = 60_000;

/** A `fleet` command for a fleet in a folder of its own. */
function fleetIn(plan: FleetPlan) {
  return (...args: string[]) => {
    const options = ['--dir', plan.dir, '--port-offset', String(plan.portOffset)];
    const child = spawn(process.execPath, [join(root, 'libs/cli/src/main.ts'), ...args, ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = new Promise<number | null>((ended) => child.once('exit', ended));
    const result = Promise.all([exit, text(child.stdout), text(child.stderr)]).then(([code, out, err]) => ({
      code,
      said: out + err,
    }));
    return { child, result };
  };
}

/**
 * The members that run with a state directory of this fleet, whatever the pid files say. What a member has just forked looks like it
 * until it runs another program.
 */
function membersOf({ dir }: FleetPlan): number[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(join('/proc', pid, file), 'utf8');
    } catch {
      return '';
    }
  };
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(pid, 'environ').includes(`HERMES_STATE_DIR=${dir}/`))
    .filter((pid) => /services\/\w+\/src\/main\.ts/.test(read(pid, 'cmdline')));
  const parentOf = (pid: string): string => /^PPid:\s+(\d+)$/m.exec(read(pid, 'status'))?.[1] ?? '';
  return found
    .filter((pid) => !found.includes(parentOf(pid)))
    .map(Number)
    .sort();
}

const named = (plan: FleetPlan): number[] =>
  [...plan.members, plan.console].flatMap(({ name }) => runningProcess(plan.runDir, name)?.pid ?? []).sort();

async function planned(t: TestContext): Promise<FleetPlan> {
  const close = { end: async (): Promise<unknown> => undefined };
  const dir = tempDir(t, { closeFirst: () => close.end() });
  const plan = planFleet({ root, dir: join(dir, 'fleet'), portOffset: await freeOffset() });
  close.end = () => fleetIn(plan)('down').result;
  return plan;
}

const HOLDS =
  /fleet up \(process \d+, since .*\) is at work on .*: wait until it has ended, or end it \(kill/;

test('of two ups at once one starts the fleet, and down ends every member of it', {
  timeout: 4 * MINUTES,
}, async (t) => {
  const plan = await planned(t);
  const fleet = fleetIn(plan);
  const ups = await Promise.all([fleet('up').result, fleet('up').result]);
  assert.deepEqual(ups.map(({ code }) => code).sort(), [0, 1], JSON.stringify(ups));
  assert.match(ups.find(({ code }) => code === 1)?.said ?? '', HOLDS);
  assert.equal(named(plan).length, 6);
  assert.deepEqual(membersOf(plan), named(plan));
  const down = await fleet('down').result;
  assert.equal(down.code, 0, down.said);
  assert.deepEqual([membersOf(plan), runningProcess(plan.runDir, 'nats')], [[], undefined]);
});

test('while an up works, other commands are refused; killed, it leaves a fleet that down ends', {
  timeout: 4 * MINUTES,
}, async (t) => {
  const plan = await planned(t);
  const fleet = fleetIn(plan);
  const up = fleet('up');
  while (!runningProcess(plan.runDir, 'switch')) await systemClock.sleep(20);
  const file = join(plan.dir, '../backup.tar.zst');
  const others = [['down'], ['backup', file], ['restore', file]];
  for (const { code, said } of await Promise.all(others.map((args) => fleet(...args).result))) {
    assert.equal(code, 1, said);
    assert.match(said, HOLDS);
  }
  assert.equal(existsSync(`${file}.partial`), false);
  up.child.kill('SIGKILL');
  await up.result;
  const down = await fleet('down').result;
  assert.equal(down.code, 0, down.said);
  assert.deepEqual([membersOf(plan), runningProcess(plan.runDir, 'nats')], [[], undefined]);
  assert.deepEqual(
    readdirSync(plan.dir).filter((name) => name.startsWith('fleet.lock')),
    [],
  );
});
