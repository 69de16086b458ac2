import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type MemoryGroup, memoryRoom, ownMemoryGroups } from './memory-room.ts';

const MIB = 1024 * 1024;
const swapFree = Number(/^SwapFree: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;

/** A control group of memory as the kernel shows it. */
function group(t: TestContext, version: 1 | 2, files: Record<string, number | string>): MemoryGroup {
  const dir = tempDir(t);
  for (const [name, value] of Object.entries(files)) writeFileSync(join(dir, name), `${value}\n`);
  return { dir, version };
}

const stat = (values: Record<string, number>): string =>
  Object.entries(values)
    .map(([name, mib]) => `${name} ${mib * MIB}`)
    .join('\n');

/** In MiB. */
function roomOf(...groups: MemoryGroup[]) {
  const { of, leftKib, reserveKib, sharedKib } = memoryRoom(groups);
  return { of, left: leftKib / 1024, reserve: reserveKib / 1024, shared: sharedKib / 1024 };
}

test('what the kernel can drop counts as left, in both versions of control groups', (t) => {
  const first = group(t, 1, {
    'memory.limit_in_bytes': 640 * MIB,
    'memory.usage_in_bytes': 600 * MIB,
    // 40 MiB of it count as not to be dropped: the reserve.
    'memory.kmem.usage_in_bytes': 70 * MIB,
    'memory.memsw.limit_in_bytes': 640 * MIB,
    'memory.memsw.usage_in_bytes': 600 * MIB,
    'memory.stat': stat({ total_inactive_file: 100, total_active_file: 20, total_shmem: 5 }),
  });
  const room = roomOf(first);
  assert.deepEqual(
    { of: room.of, left: room.left, reserve: room.reserve },
    { of: 'this control group', left: 40 + 100 + 20 + 30, reserve: 40 },
  );
  const second = group(t, 2, {
    'memory.max': 640 * MIB,
    'memory.current': 600 * MIB,
    'memory.swap.max': 0,
    'memory.swap.current': 0,
    'memory.stat': stat({ inactive_file: 100, active_file: 20, slab_reclaimable: 30, shmem: 0 }),
  });
  assert.deepEqual(roomOf(second), { ...room, shared: roomOf(second).shared });
  assert.ok(roomOf(second).shared <= room.shared, 'shared memory of the group, not of the machine');
});

test('memory of the kernel is left as far as it may be names of files, in version 1', (t) => {
  const left = (kernel: number): number =>
    roomOf(
      group(t, 1, {
        'memory.limit_in_bytes': 400 * MIB,
        'memory.usage_in_bytes': 400 * MIB,
        'memory.kmem.usage_in_bytes': kernel * MIB,
        'memory.stat': '',
      }),
    ).left;
  const swap = swapFree > 0 ? left(0) : 0;
  const names = Number(/^SReclaimable: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
  const found = [25, 75, 200, 260, 300, 400].map((kernel) => left(kernel) - swap);
  for (const [index, expected] of [0, 50, 100, 40, 0, 0].entries())
    assert.ok(Math.abs((found[index] ?? -1) - Math.min(expected, names)) < 1, `${found}`);
});

test('the group with the least room counts, and one without a limit does not', (t) => {
  const of = (max: string | number, current: number): MemoryGroup =>
    group(t, 2, { 'memory.max': max, 'memory.current': current * MIB, 'memory.swap.max': 0 });
  const wide = of(1000 * MIB, 100);
  const tight = of(500 * MIB, 480);
  const without = of('max', 10_000_000);
  assert.equal(roomOf(wide, tight, without).left, 20);
  assert.equal(roomOf(without).of, 'this machine');
  assert.equal(roomOf().of, 'this machine');
});

test('free swap counts as far as the group may have it', {
  skip: swapFree > 0 ? false : 'no swap here',
}, (t) => {
  const some = group(t, 2, {
    'memory.max': 500 * MIB,
    'memory.current': 480 * MIB,
    'memory.swap.max': 7 * MIB,
    'memory.swap.current': 5 * MIB,
  });
  assert.equal(roomOf(some).left, 20 + Math.min(2, swapFree));
});

test('the reserve is a 16th of the memory, from 16 to 256 MiB', (t) => {
  const reserve = (mib: number) =>
    roomOf(group(t, 2, { 'memory.max': mib * MIB, 'memory.current': mib * MIB })).reserve;
  assert.deepEqual([100, 512, 1024].map(reserve), [16, 32, 64]);
  const machine = memoryRoom([]);
  const total = Number(/^MemTotal: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
  assert.equal(machine.reserveKib, Math.min(total / 16, 256 * 1024));
});

test('a process finds its groups on a host and in a container, by either version', (t) => {
  const at = tempDir(t);
  for (const [path, file] of [
    ['v1', 'memory.limit_in_bytes'],
    ['v1/fleet', 'memory.limit_in_bytes'],
    ['v1/fleet/neo', 'memory.limit_in_bytes'],
    ['v2/fleet', 'memory.max'],
  ] as const) {
    mkdirSync(join(at, path), { recursive: true });
    writeFileSync(join(at, path, file), '1');
  }
  const mount = (root: string, point: string, rest: string): string =>
    `35 31 0:32 ${root} ${join(at, point)} rw,relatime shared:9 - ${rest}\n`;
  const v1 = (root: string): string => mount(root, 'v1', 'cgroup cgroup rw,memory');
  const find = (mounts: string, own: string): string[] =>
    ownMemoryGroups(mounts, own).map(({ dir, version }) => `${version} ${dir.slice(at.length + 1)}`);
  const host = '9:cpu:/x\n4:memory:/fleet/neo\n0::/\n';
  assert.deepEqual(find(v1('/'), host), ['1 v1/fleet/neo', '1 v1/fleet', '1 v1']);
  assert.deepEqual(find(v1('/docker/1'), '4:memory:/docker/1\n0::/docker/1\n'), ['1 v1'], 'a container');
  assert.deepEqual(find(mount('/', 'v1', 'cgroup cgroup rw,cpu'), host), []);
  // The group at the top has no limit of its own.
  const v2 = mount('/', 'v2', 'cgroup2 cgroup2 rw');
  assert.deepEqual(find(v2, '0::/fleet\n'), ['2 v2/fleet']);
  assert.deepEqual(find(v2, '0::/../elsewhere\n'), [], 'outside of what is mounted');
});
