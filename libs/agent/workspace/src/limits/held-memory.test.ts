import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import {
  mappedOnly,
  memoryFile,
  onTheirWay,
  PERL,
  PYTHON,
  withoutPython,
} from '../../testing/memory-attacks.ts';
import { cannotConfine } from '../../testing/place.ts';
import { bubblewrapArgs } from '../confinement/bubblewrap.ts';
import { childrenOf } from '../process/proc.ts';
import { createHeldMemory, type HeldMemory } from './held-memory.ts';

/** Starts a command that prints a byte when it holds what it shall, then measures it with everything that it started. */
async function heldBy(t: TestContext, command: string, args: readonly string[]): Promise<HeldMemory> {
  const child: ChildProcess = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout ?? assert.fail(), 'data');
  const family = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(family)];
  const uid = process.getuid?.() ?? 0;
  return createHeldMemory()(family(child.pid ?? 0).map((pid) => ({ pid, uid })));
}

const READY = '$| = 1; print "x"; <STDIN>;';

test('a memory file counts once, whoever has it open', async (t) => {
  const { kib, hides } = await heldBy(t, PERL, ['-e', `${memoryFile(30)} fork; ${READY}`]);
  assert.deepEqual({ mib: Math.round(kib / 1024), hides }, { mib: 30, hides: false });
});

test('an ordinary process holds nothing', async (t) => {
  assert.deepEqual(await heldBy(t, PERL, ['-e', READY]), { kib: 0, hides: false });
});

test('files of a tmpfs that only the command has count, removed or not', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const parts = { reach: { writable: [], readOnly: [] }, readable: [], asRoot: false, ownNetwork: false };
  const fill =
    'head -c 20M /dev/zero > /tmp/a; head -c 10M /dev/zero > /dev/shm/b; exec 5< /tmp/a; rm /tmp/a';
  const script = `${fill}; echo x; read line`;
  const { kib } = await heldBy(t, 'bwrap', [...bubblewrapArgs(parts), '--', '/bin/sh', '-c', script]);
  assert.equal(Math.round(kib / 1024), 30);
});

test('empty files of a tmpfs that only the command has count by their number', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const parts = { reach: { writable: [], readOnly: [] }, readable: [], asRoot: false, ownNetwork: false };
  const script = 'cd /tmp; seq 10240 | xargs touch; echo x; read line';
  const { kib } = await heldBy(t, 'bwrap', [...bubblewrapArgs(parts), '--', '/bin/sh', '-c', script]);
  assert.equal(Math.round(kib / 1024), 10);
});

test('memory that is mapped without a descriptor counts where this process may look', {
  skip: process.getuid?.() === 0 ? withoutPython : 'only root may look',
}, async (t) => {
  const { kib } = await heldBy(t, PYTHON, ['-c', `${mappedOnly(30)}\nprint('x', flush=True)\ninput()`]);
  assert.equal(Math.round(kib / 1024), 30);
});

test('descriptors on their way through a socket may hold more than was seen', {
  skip: withoutPython,
}, async (t) => {
  const { hides } = await heldBy(t, PYTHON, ['-c', `${onTheirWay(50)}\nprint('x', flush=True)\ninput()`]);
  assert.equal(hides, true);
});

test('processes with very many descriptors may hold more than was seen', async (t) => {
  const many = `my @open; for (1..10001) { open(my $f, "<", "/dev/null") or last; push @open, $f }`;
  const { hides } = await heldBy(t, 'prlimit', ['--nofile=20000', PERL, '-e', `${many} fork; ${READY}`]);
  assert.equal(hides, true);
});
