import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine, makePlace } from '../../testing/index.ts';
import { runCommand, supervise } from '../process/run-command.ts';
import { openCommandGroups } from './command-groups.ts';
import { ownGroups } from './memory-room.ts';

const MIB = 1024 * 1024;
const log = silentLog;

/** A folder with the files of a delegated control group, as far as this process reads them; all are plain files. */
function fakeGroup(t: TestContext, controllers = 'cpu memory pids', members = `${process.pid}\n`) {
  const own = tempDir(t);
  const file = (name: string): string => readFileSync(join(own, name), 'utf8');
  writeFileSync(join(own, 'cgroup.controllers'), `${controllers}\n`);
  writeFileSync(join(own, 'cgroup.procs'), members);
  // The kernel makes the files of a new group.
  mkdirSync(join(own, 'gateway'));
  writeFileSync(join(own, 'gateway/memory.oom.group'), '0');
  writeFileSync(join(own, 'gateway/cgroup.procs'), '');
  return { own, file };
}

test('the gateway moves into a leaf, and a command gets a group with its limit that is removed after it', (t) => {
  const { own, file } = fakeGroup(t);
  mkdirSync(join(own, 'command-of-a-crashed-gateway'));
  const clock = manualClock();
  const { nextGroup } = openCommandGroups({ own, memoryMb: 64, clock, log });
  assert.equal(file('gateway/cgroup.procs'), `${process.pid}`);
  assert.equal(file('cgroup.subtree_control'), '+memory');
  assert.deepEqual(
    readdirSync(own).filter((name) => name.startsWith('command-')),
    [],
  );
  const { dir, open } = nextGroup?.() ?? assert.fail();
  assert.ok(!existsSync(dir), 'a line that is never run leaves nothing');
  const group = open() ?? assert.fail();
  assert.equal(readFileSync(join(dir, 'memory.max'), 'utf8'), `${64 * MIB}`);
  assert.equal(readFileSync(join(dir, 'memory.oom.group'), 'utf8'), '1');
  // A plain folder with files cannot be removed, like a group whose processes are still ending.
  group[Symbol.dispose]();
  clock.advance(100);
  assert.ok(existsSync(dir));
  for (const name of readdirSync(dir)) rmSync(join(dir, name));
  clock.advance(100);
  assert.ok(!existsSync(dir));
});

test('without a limit, the kernel still ends a command whole', (t) => {
  const { own } = fakeGroup(t);
  const { nextGroup } = openCommandGroups({ own, memoryMb: 0, clock: manualClock(), log });
  const { dir, open } = nextGroup?.() ?? assert.fail();
  assert.ok(open());
  assert.deepEqual(readdirSync(dir), ['memory.oom.group']);
});

test('a result names the limit that the kernel ended the command for, of a command and of a server', async (t) => {
  const { own } = fakeGroup(t);
  const { nextGroup } = openCommandGroups({ own, memoryMb: 64, clock: manualClock(), log });
  const run = async (events: string) => {
    const { dir, open } = nextGroup?.() ?? assert.fail();
    const script = `printf '${events}' > ${dir}/memory.events; kill -9 $$`;
    const line = { command: '/bin/sh', args: ['-c', script], group: open };
    const limits = { timeoutMs: 10_000, keepBytes: 1000, maxBytes: 1000, clock: systemClock };
    const { killed, limit } = await runCommand(line, { cwd: own, env: {}, ...limits });
    const told: string[] = [];
    const server = supervise({
      ...line,
      group: () => open() ?? { endedFor: () => limit, [Symbol.dispose]() {} },
    });
    server.started(2 ** 30, (met) => told.push(met));
    server[Symbol.dispose]();
    return [killed, limit, ...told];
  };
  const own64 = 'its processes needed more than 64 MiB of memory, the limit tools.shell.limits.memory_mb';
  assert.deepEqual(await run('max 9\\noom 1\\noom_kill 3\\n'), ['limit', own64, own64]);
  const [killed, limit] = await run('max 0\\noom 0\\noom_kill 3\\n');
  assert.equal(killed, 'limit');
  assert.match(limit ?? '', /^the memory of this machine or this control group was used up/);
  assert.deepEqual(await run('max 9\\noom 0\\noom_kill 0\\n'), [undefined, undefined]);
});

test('nothing changes in a control group without memory or with other processes or groups, and the reason is returned', (t) => {
  const missing = (own: string) => openCommandGroups({ own, memoryMb: 1, clock: manualClock(), log }).missing;
  const without = fakeGroup(t, 'cpu pids');
  assert.equal(missing(without.own), 'the control group has no controller memory');
  const shared = fakeGroup(t, 'memory', `1\n${process.pid}\n`);
  assert.equal(missing(shared.own), 'the control group has other processes');
  const parent = fakeGroup(t);
  mkdirSync(join(parent.own, 'session'));
  assert.equal(missing(parent.own), 'the control group has other groups');
  for (const { own, file } of [without, shared, parent]) {
    assert.equal(file('gateway/cgroup.procs'), '');
    assert.ok(!existsSync(join(own, 'cgroup.subtree_control')));
  }
  assert.match(missing(join(shared.own, 'absent')) ?? '', /^the control group cannot be used: ENOENT/);
});

test('a step that is refused puts back what was changed', (t) => {
  const { own, file } = fakeGroup(t);
  symlinkSync('.', join(own, 'cgroup.subtree_control'));
  writeFileSync(join(own, 'cgroup.procs'), `${process.pid}`);
  const found = openCommandGroups({ own, memoryMb: 1, clock: manualClock(), log });
  assert.match(found.missing ?? '', /^the control group cannot be used: EISDIR/);
  assert.equal(file('cgroup.procs'), `${process.pid}`);
  const old = fakeGroup(t);
  rmSync(join(old.own, 'gateway/memory.oom.group'));
  assert.match(
    openCommandGroups({ own: old.own, memoryMb: 1, clock: manualClock(), log }).missing ?? '',
    /ENOENT/,
  );
  assert.equal(old.file('cgroup.subtree_control'), '-memory');
});

/** A new control group below the top of version 2; undefined where this process may not make one. */
function makeRealGroup(): string | undefined {
  const top = ownGroups(undefined, '0::/\n').find(({ version }) => version === 2)?.dir;
  const dir = join(top ?? '/absent', `hermes-test-${randomUUID()}`);
  try {
    mkdirSync(dir);
    return dir;
  } catch {
    return undefined;
  }
}

const probed = makeRealGroup();
if (probed !== undefined) rmdirSync(probed);

for (const method of ['bubblewrap', 'uid'] as const) {
  test(`in a real hierarchy, a command confined by ${method} runs in its group, cannot leave it, and it is removed`, {
    skip: cannotConfine(method) || (probed === undefined && 'no control groups of version 2 to write to'),
  }, async (t) => {
    const base = makeRealGroup() ?? assert.fail();
    t.after(() => {
      for (const { name } of readdirSync(base, { withFileTypes: true }).filter((each) => each.isDirectory()))
        rmdirSync(join(base, name));
      rmdirSync(base);
    });
    const place = makePlace(t);
    const script = `
      import { readdirSync, readFileSync } from 'node:fs';
      import { systemClock as clock } from '@hermes-fleet/protocol/ports';
      import { silentLog as log } from '@hermes-fleet/protocol/testing';
      import { COMMAND_ENV, createConfinement, runCommand } from './src/index.ts';
      const limits = { processes: 0, memoryMb: 64, dataMb: 0, fileMb: 0, openFiles: 0, cpuS: 0 };
      const options = { ...${JSON.stringify(place)}, confine: '${method}', limits, controllers: [], clock, log };
      const { wrap, note } = await createConfinement(options);
      const command = 'tail -n 1 /proc/self/cgroup; sleep 60 & echo 0 > ${base}/gateway/cgroup.procs; mkdir ${base}/mine';
      const line = wrap('/bin/sh', ['-c', command], { writable: [], readOnly: [] });
      const bounds = { timeoutMs: 10_000, keepBytes: 1000, maxBytes: 10_000, clock };
      const { stdout, stderr } = await runCommand(line, { cwd: '/', env: COMMAND_ENV, ...bounds });
      const left = () => readdirSync('${base}', { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name);
      const alone = () => readFileSync('${base}/gateway/cgroup.procs', 'utf8').trim() === String(process.pid);
      for (let tries = 0; tries < 200 && (left().length > 1 || !alone()); tries += 1) await clock.sleep(20);
      const after = left();
      const again = await createConfinement(options);
      console.log(JSON.stringify({ stdout, stderr, left: after, notes: [note, again.note] }));`;
    const args = ['-c', `echo 0 > ${base}/cgroup.procs; exec "$@"`, 'sh', process.execPath];
    const ran = spawnSync('/bin/sh', [...args, '--input-type=module', '--eval', script], {
      cwd: join(import.meta.dirname, '../..'),
      encoding: 'utf8',
    });
    assert.equal(ran.status, 0, ran.stderr);
    const { stdout, stderr, left, notes } = JSON.parse(ran.stdout);
    assert.match(stdout, /^0::\/hermes-test-[^/]+\/command-[0-9a-f-]+\n$/);
    assert.match(stderr, /cgroup\.procs: .*(denied|nonexistent)/i);
    assert.match(stderr, /mkdir: /);
    assert.deepEqual(left, ['gateway']);
    // The second one starts in the leaf, and uses the same group.
    for (const note of notes) assert.match(note, /; on: [^;]*memory groups/);
  });
}

test('a real group that others are in stays as it is', {
  skip: probed === undefined && 'no control groups of version 2 to write to',
}, async (t) => {
  const base = makeRealGroup() ?? assert.fail();
  const other = spawn('/bin/sh', ['-c', `echo 0 > ${base}/cgroup.procs; echo; exec sleep 60`]);
  const gone = once(other, 'exit');
  t.after(async () => {
    other.kill('SIGKILL');
    await gone;
    rmdirSync(base);
  });
  await once(other.stdout, 'data');
  const open = { own: base, controllers: [], memoryMb: 1, clock: manualClock(), log };
  assert.equal(openCommandGroups(open).missing, 'the control group has other processes');
  assert.ok(!existsSync(join(base, 'gateway')));
});
