import { join, relative } from 'node:path';
import { textNow } from '../process/system-error.ts';

const KIB = 1024;
const KIB_PER_MIB = 1024;
/** The part of the memory that is kept in reserve, as a divisor, and its bounds. */
const RESERVE_SHARE = 16;
const RESERVE_KIB = { least: 16 * KIB_PER_MIB, most: 256 * KIB_PER_MIB };

/** The part of a control group that names and inodes of files may take in it, of version 1. */
const DROPPABLE = 1 / 4;

/** How much memory is left to this process and its commands. */
export interface MemoryRoom {
  /** What has the least left: the machine, or a control group that this process is in. */
  readonly of: 'this machine' | 'this control group';
  /** What can still be taken, in KiB: with what the kernel can drop, as the page cache, and with free swap. */
  readonly leftKib: number;
  /** All memory of it, in KiB. */
  readonly totalKib: number;
  /** Less than this is a shortage: a 16th of the memory, at least 16 and at most 256 MiB. */
  readonly reserveKib: number;
  /** All shared memory of it, in KiB: memory files and each tmpfs too, and what is swapped out. */
  readonly sharedKib: number;
}

/** A control group of memory: its folder, and its version. */
export interface MemoryGroup {
  readonly dir: string;
  readonly version: 1 | 2;
}

/** Measures the room of the machine and of `groups`. */
export function memoryRoom(groups: readonly MemoryGroup[]): MemoryRoom {
  const machine = valuesOf('/proc/meminfo');
  const of = (name: string): number => machine.get(name) ?? 0;
  const total = of('MemTotal:');
  const swapFree = of('SwapFree:');
  const sharedKib = of('Shmem:') + of('SwapTotal:') - swapFree;
  const rooms: MemoryRoom[] = [
    {
      of: 'this machine',
      leftKib: of('MemAvailable:') + swapFree,
      totalKib: total,
      reserveKib: reserveOf(total),
      sharedKib,
    },
  ];
  for (const { dir, version } of groups) {
    const limit = amount(dir, FILES[version].limit);
    // Other groups have no limit, or one above the memory of the machine.
    if (!(limit < total)) continue;
    const reserveKib = reserveOf(limit);
    const stat = valuesOf(join(dir, 'memory.stat'));
    const names = of('SReclaimable:');
    const leftKib = leftIn(dir, version, { limit, reserveKib, swapFree, stat, names });
    const shared = of('SwapTotal:') - swapFree + (stat.get(FILES[version].shared) ?? 0) / KIB;
    rooms.push({
      of: 'this control group',
      leftKib,
      totalKib: limit,
      reserveKib,
      sharedKib: Math.min(shared, sharedKib),
    });
  }
  return rooms.reduce((least, room) =>
    room.leftKib - room.reserveKib < least.leftKib - least.reserveKib ? room : least,
  );
}

const reserveOf = (total: number): number =>
  Math.min(Math.max(total / RESERVE_SHARE, RESERVE_KIB.least), RESERVE_KIB.most);

const FILES = {
  1: { limit: 'memory.limit_in_bytes', used: 'memory.usage_in_bytes', shared: 'total_shmem' },
  2: { limit: 'memory.max', used: 'memory.current', shared: 'shmem' },
} as const;

function leftIn(
  dir: string,
  version: 1 | 2,
  room: {
    readonly limit: number;
    readonly reserveKib: number;
    readonly swapFree: number;
    readonly stat: ReadonlyMap<string, number>;
    /** What the kernel keeps of files on the whole machine and can drop. */
    readonly names: number;
  },
): number {
  const { limit, reserveKib, swapFree, stat, names } = room;
  const bytes = (name: string): number => (stat.get(name) ?? 0) / KIB;
  const left = limit - amount(dir, FILES[version].used);
  if (version === 2) {
    const droppable = bytes('inactive_file') + bytes('active_file') + bytes('slab_reclaimable');
    const swap = swapFree && amount(dir, 'memory.swap.max') - amount(dir, 'memory.swap.current');
    return left + droppable + Math.min(swapFree, orNone(swap));
  }
  // How much of its own memory the kernel can drop, version 1 does not say: usually names and inodes of files are most of
  // it. The more of the group it is, the less of it they may be.
  const used = orNone(amount(dir, 'memory.kmem.usage_in_bytes'), 0);
  const most = Math.min(names, limit * DROPPABLE, limit * (1 - DROPPABLE) - used);
  const kernel = Math.max(0, Math.min(used - reserveKib, most));
  const droppable = bytes('total_inactive_file') + bytes('total_active_file') + kernel;
  const both =
    swapFree && amount(dir, 'memory.memsw.limit_in_bytes') - amount(dir, 'memory.memsw.usage_in_bytes');
  return droppable + Math.min(left + swapFree, swapFree === 0 ? left : orNone(both));
}

/** A control group without the file has no such limit. */
const orNone = (value: number, none = Number.POSITIVE_INFINITY): number =>
  Number.isNaN(value) ? none : value;

/** The control groups that this process is in and that have memory's files, innermost first. */
export const ownMemoryGroups = (...from: Parameters<typeof ownGroups>): MemoryGroup[] =>
  ownGroups(...from).filter(({ dir, version }) => textNow(join(dir, FILES[version].limit)) !== '');

/** The control groups that this process is in, of memory in version 1 and all in version 2, innermost first. */
export function ownGroups(
  mounts = textNow('/proc/self/mountinfo'),
  own = textNow('/proc/self/cgroup'),
): MemoryGroup[] {
  const groups: MemoryGroup[] = [];
  for (const line of mounts.split('\n')) {
    const [, , , root = '', mountPoint = '', ...rest] = line.split(' ');
    const [type = '', , options = ''] = rest.slice(rest.indexOf('-') + 1);
    const isFirst = type === 'cgroup' && options.split(',').includes('memory');
    if (!isFirst && type !== 'cgroup2') continue;
    const path = (isFirst ? /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m : /^0::(.*)$/m).exec(own)?.[1];
    if (path === undefined) continue;
    const below = relative(root, path);
    // A container may see a root that is not above its own group, which it then sees at the root.
    const parts = below.startsWith('..') ? [] : below.split('/').filter(Boolean);
    for (let depth = parts.length; depth >= 0; depth -= 1)
      groups.push({ dir: join(mountPoint, ...parts.slice(0, depth)), version: isFirst ? 1 : 2 });
  }
  return groups;
}

/** Lines `NAME VALUE`. */
const valuesOf = (path: string): Map<string, number> =>
  new Map(
    [...textNow(path).matchAll(/^(\S+)\s+(\d+)/gm)].map(([, name = '', value]) => [name, Number(value)]),
  );

/** Bytes in a file of a control group, in KiB; infinite for `max`, NaN without the file. */
function amount(dir: string, file: string): number {
  const text = textNow(join(dir, file)).trim();
  if (text === 'max') return Number.POSITIVE_INFINITY;
  return text === '' ? Number.NaN : Number(text) / KIB;
}
