import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { backUp, beside, failure, fleetFolder, RELEASE, valueIn } from '../../testing/fleet-folder.ts';
import { recordProcess } from '../local/pid-file.ts';
import type { FleetPlan } from '../local/plan.ts';
import { pauseProcesses } from './pause.ts';
import { restore } from './restore.ts';

describe('a backup', () => {
  it('has everything that the fleet needs, and nothing else', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../backup.tar.zst');
    const { manifest, bytes, pausedMs } = await backUp(plan, file);
    assert.deepEqual(manifest.parts, [
      ...['keys/neo', 'keys/switch', 'state/neo', 'state/switch', 'workspaces/neo', 'workspaces/switch'],
      'nats',
    ]);
    assert.deepEqual([bytes, pausedMs], [statSync(file).size, 0]);
    assert.equal(statSync(file).mode & 0o777, 0o600);

    const other = beside(plan, 'other');
    assert.deepEqual(await restore(other, file, RELEASE), manifest);
    assert.deepEqual(readdirSync(other.dir).toSorted(), ['keys', 'nats', 'state', 'version', 'workspaces']);
    assert.equal(readFileSync(join(other.dir, 'version'), 'utf8'), `${RELEASE}\n`);
    assert.deepEqual([valueIn(other, 'switch'), valueIn(other, 'neo')], ['switch', 'neo']);
    const tree = join(other.dir, 'workspaces/neo/contexts/c/tree');
    assert.equal(readFileSync(join(tree, 'a file\nwith a line break'), 'utf8'), 'x');
    assert.ok(readdirSync(tree).includes('link'));
    assert.equal(statSync(join(other.dir, 'keys/neo/A2A_HERMES_TOKEN_OPERATOR')).mode & 0o777, 0o400);
    assert.deepEqual(readdirSync(join(other.dir, 'state/neo/tmp')), []);
  });

  it('of one member has its own folders only, and goes beside those of others', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../neo.tar.zst');
    const { manifest } = await backUp(plan, file, 'neo');
    assert.deepEqual(manifest.parts, ['keys/neo', 'state/neo', 'workspaces/neo']);
    const other = beside(plan, 'other');
    mkdirSync(join(other.dir, 'state/switch'), { recursive: true });
    writeFileSync(join(other.dir, 'state/switch/ledger.db'), '');
    await restore(other, file, RELEASE);
    assert.deepEqual(readdirSync(join(other.dir, 'state')).toSorted(), ['neo', 'switch']);
    await assert.rejects(
      backUp(plan, `${file}2`, 'trinity'),
      failure('CONFIG_INVALID', /no state of trinity in/),
    );
  });

  it('replaces no file, and leaves none behind when it fails', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../backup.tar.zst');
    writeFileSync(file, 'mine');
    await assert.rejects(backUp(plan, file), failure('CONFIG_INVALID', /exists: name another file/));
    assert.equal(readFileSync(file, 'utf8'), 'mine');
    const other = `${file}2`;
    writeFileSync(`${other}.partial`, '');
    await assert.rejects(
      backUp(plan, other),
      failure('CONFIG_INVALID', /partial exists, of a backup that runs/),
    );
    await assert.rejects(backUp(plan, '/proc/none'), /ENOENT/);
    assert.deepEqual(readdirSync(join(plan.dir, '..')).toSorted(), [
      'backup.tar.zst',
      'backup.tar.zst2.partial',
      'fleet',
    ]);
    rmSync(`${other}.partial`);
    await assert.rejects(
      backUp(beside(plan, 'empty'), other),
      failure('CONFIG_INVALID', /no state of a fleet in/),
    );
  });

  it('holds the files of one moment, however the processes write, which go on afterwards', async (t) => {
    const plan = fleetFolder(t);
    const [first, second] = ['first', 'second'].map((name) => join(plan.dir, 'state/neo', name));
    // A child writes a number to two files, always to the first one first.
    const count = `i=0; while :; do i=$((i+1)); echo $i >${first}; echo $i >${second}; done`;
    const gateway = spawn('sh', ['-c', `sh -c '${count}' & wait`], { detached: true });
    t.after(() => process.kill(-(gateway.pid ?? 0), 'SIGKILL'));
    await once(gateway, 'spawn');
    recordProcess(plan.runDir, 'neo', gateway.pid ?? 0);
    while (!existsSync(second ?? '')) await systemClock.sleep(10);
    const numbers = (at: FleetPlan): number[] =>
      ['first', 'second'].map((name) => Number(readFileSync(join(at.dir, 'state/neo', name), 'utf8')));
    for (let round = 0; round < 5; round += 1) {
      const file = join(plan.dir, `../${round}.tar.zst`);
      const { pausedMs } = await backUp(plan, file);
      assert.ok(pausedMs > 0);
      const copy = beside(plan, `copy-${round}`);
      await restore(copy, file, RELEASE);
      const [one = 0, two = 0] = numbers(copy);
      // A file that is being written is empty for a moment.
      if (one > 0 && two > 0) assert.ok(one - two === 0 || one - two === 1, `${one} and ${two}`);
      const [before = 0] = numbers(plan);
      while ((numbers(plan)[0] ?? 0) <= before) await systemClock.sleep(10);
    }
  });

  it('begins not beside another one, which goes on undisturbed', async (t) => {
    const plan = fleetFolder(t);
    const gateway = spawn('sleep', ['60']);
    t.after(() => gateway.kill('SIGKILL'));
    await once(gateway, 'spawn');
    recordProcess(plan.runDir, 'neo', gateway.pid ?? 0);
    const first = await pauseProcesses([gateway.pid ?? 0]);
    const file = join(plan.dir, '../second.tar.zst');
    await assert.rejects(backUp(plan, file), failure('CAPACITY', /are stopped, as during a backup/));
    first.check();
    assert.equal(existsSync(file), false);
    gateway.kill('SIGCONT');
    await systemClock.sleep(50);
    assert.throws(() => first.check(), failure('CAPACITY', /was continued during the backup/));
    await first[Symbol.asyncDispose]();
    await backUp(plan, file);
  });

  it('that dies lets the processes go on', async (t) => {
    const ticking = spawn('sh', ['-c', 'while :; do echo; sleep 0.05; done'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    t.after(() => ticking.kill('SIGKILL'));
    await once(ticking.stdout, 'data');
    const pause = JSON.stringify(new URL('./pause.ts', import.meta.url).href);
    const script = `const { pauseProcesses } = await import(${pause});
      await pauseProcesses([${ticking.pid}]);
      process.kill(process.pid, 'SIGKILL');`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      timeout: 30_000,
    });
    assert.equal(signal, 'SIGKILL');
    ticking.stdout.read();
    await once(ticking.stdout, 'data');
  });
});
