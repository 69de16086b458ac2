import { readdirSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { textNow } from '../process/system-error.ts';

/** Descriptors and mappings of a command that one pass looks at. The next pass begins with another process. */
const MOST_LOOKS = 10_000;
const MOST_MOUNTS = 64;
const TMPFS_MAGIC = 0x01021994;
const BLOCKS_PER_KIB = 2;
const BYTES_PER_KIB = 1024;
/** What the kernel keeps for a file of a tmpfs, with its name: about 1 KiB, also when it is empty. */
const FILE_KIB = 1;

/** Mappings of what has no path: memory files, shared anonymous memory, and segments of SysV. */
const MAPPED =
  /^0*([0-9a-f]+)-0*([0-9a-f]+) \S+ \S+ \S+ (\d+) +(?:\/memfd:|\/dev\/zero \(deleted\)|\/SYSV)/gm;
/** In the description of a socket: descriptors that were sent and not received. */
const ON_THEIR_WAY = /^scm_fds:\s*[1-9]/m;
/** A line of mountinfo of a tmpfs: its mount point. */
const TMPFS_MOUNT = /^(?:\S+ ){4}(\S+) .*? - tmpfs /gm;

/** A process, and the user that it runs as. */
export interface Owned {
  readonly pid: number;
  readonly uid: number;
}

/** What processes hold in memory and none of them has in use as its own. */
export interface HeldMemory {
  readonly kib: number;
  /**
   * True when they may hold more: a process forbade its user to look at it, descriptors are on their way through a socket, or
   * there are too many.
   */
  readonly hides: boolean;
}

/**
 * Returns a function that measures what processes hold: memory files (memfd), also those that nothing maps, unlinked files of
 * a tmpfs, and each tmpfs that their mount namespaces have and this process's has not. Root also sees mapped memory that has
 * no descriptor. Each object counts once. Nothing counts of processes of users that this process may not look at.
 */
export function createHeldMemory(): (processes: readonly Owned[]) => HeldMemory {
  const ownNamespace = attempt(() => readlinkSync('/proc/self/ns/mnt'));
  const ownTmpfs = new Set(tmpfsOf('self').keys());
  const readsMappings = process.getuid?.() === 0;
  let pass = 0;
  return (processes) => {
    pass += 1;
    const files = new Map<string, number>();
    const mounts = new Map<number, number>();
    const namespaces = new Set([ownNamespace]);
    let hides = false;
    let looks = 0;
    const add = (path: string, counts: (dev: number) => boolean): void => {
      const found = attempt(() => statSync(path));
      if (found !== undefined && counts(found.dev))
        files.set(`${found.dev}:${found.ino}`, found.blocks / BLOCKS_PER_KIB);
    };
    const addDescriptor = (pid: number, descriptor: string): void => {
      looks += 1;
      const path = `/proc/${pid}/fd/${descriptor}`;
      const target = attempt(() => readlinkSync(path)) ?? '';
      if (target.startsWith('/memfd:')) add(path, () => true);
      else if (target.endsWith(' (deleted)')) add(path, (dev) => ownTmpfs.has(dev));
      else if (target.startsWith('socket:'))
        hides ||= ON_THEIR_WAY.test(textNow(`/proc/${pid}/fdinfo/${descriptor}`));
    };
    const addMappings = (pid: number): void => {
      const seen = new Set<string>();
      for (const [, from, to, inode = ''] of textNow(`/proc/${pid}/maps`).matchAll(MAPPED)) {
        looks += 1;
        if (!seen.has(inode)) add(`/proc/${pid}/map_files/${from}-${to}`, () => true);
        seen.add(inode);
      }
    };
    for (let index = 0; index < processes.length; index += 1) {
      const { pid, uid } = processes[(index + pass) % processes.length] ?? NOBODY;
      if (looks > MOST_LOOKS) {
        hides = true;
        break;
      }
      const namespace = attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`));
      if (namespace !== undefined && !namespaces.has(namespace))
        for (const [dev, kib] of tmpfsOf(pid)) mounts.set(dev, kib);
      namespaces.add(namespace);
      const descriptors = attempt(() => readdirSync(`/proc/${pid}/fd`));
      // The files of a process that may not be looked at belong to root.
      if (descriptors === undefined)
        hides ||= (attempt(() => statSync(`/proc/${pid}/fd`).uid) ?? uid) !== uid;
      for (const descriptor of descriptors ?? []) addDescriptor(pid, descriptor);
      if (readsMappings) addMappings(pid);
    }
    for (const dev of ownTmpfs) mounts.delete(dev);
    const kib = [...files.values(), ...mounts.values()].reduce((sum, each) => sum + each, 0);
    return { kib, hides };
  };
}

const NOBODY: Owned = { pid: 0, uid: 0 };

/** What each tmpfs of the process's mount namespace has in memory, in KiB by device number: its blocks, and its files themselves. */
function tmpfsOf(pid: number | 'self'): Map<number, number> {
  const found = new Map<number, number>();
  for (const [, mountPoint = ''] of [...textNow(`/proc/${pid}/mountinfo`).matchAll(TMPFS_MOUNT)].slice(
    0,
    MOST_MOUNTS,
  )) {
    const path = `/proc/${pid}/root${mountPoint.replaceAll(/\\(\d{3})/g, character)}`;
    const [dev, system] = [attempt(() => statSync(path).dev), attempt(() => statfsSync(path))];
    // Another file system may be mounted above it.
    if (dev === undefined || system?.type !== TMPFS_MAGIC) continue;
    const blocksKib = ((system.blocks - system.bfree) * system.bsize) / BYTES_PER_KIB;
    found.set(dev, blocksKib + (system.files - system.ffree) * FILE_KIB);
  }
  return found;
}

const character = (_: string, octal: string): string => String.fromCharCode(Number.parseInt(octal, 8));

/** Undefined when the process is gone, or may not be looked at. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
