import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ProxyFiles, Reach } from './confinement.ts';
import { SETTINGS, SYSTEM } from './system-paths.ts';

const TMP_BYTES = 256 * 1024 * 1024;

/** Files of /proc that belong to no namespace; Docker closes them in containers. */
const MASKED = ['kcore', 'keys', 'key-users', 'latency_stats', 'sched_debug', 'timer_list'].map(
  (name) => `/proc/${name}`,
);

const PROXY_FOLDER = '/.hermes-fleet';

/** Where a confined command finds its `ProxyFiles`: no folder of the machine that is shown can cover them. */
export const PROXY_PLACES: ProxyFiles = {
  relay: `${PROXY_FOLDER}/relay.cjs`,
  socket: `${PROXY_FOLDER}/proxy`,
};

/** Capabilities needed to enter a directory of the commands' user and to become that user, who has none of them. */
const ROOT_KEEPS = ['CAP_DAC_READ_SEARCH', 'CAP_SETUID', 'CAP_SETGID'];

/** Builds the arguments of `bwrap` up to the command: an empty root, and the paths that are visible in it. */
export function bubblewrapArgs(options: {
  readonly reach: Reach;
  /** Read-only paths in addition to the system's, e.g. the running Node. */
  readonly readable: readonly string[];
  /** True when root starts it: it keeps the capabilities that `setpriv` needs, and makes no user namespace. */
  readonly asRoot: boolean;
  /** True for a network namespace of its own, with nothing but a loopback interface. */
  readonly ownNetwork: boolean;
}): string[] {
  const { writable, readOnly, proxy } = options.reach;
  const shown = [...SETTINGS, ...options.readable].filter((path) => existsSync(path));
  const args = SYSTEM.flatMap(system);
  const bounded = (path: string): string[] => [
    ...['--perms', '1777', '--size', String(TMP_BYTES)],
    ...['--tmpfs', path],
  ];
  args.push(...bounded('/tmp'), '--dev', '/dev', ...bounded('/dev/shm'));
  for (const directory of parents([...shown, ...writable, ...readOnly])) args.push('--dir', directory);
  if (proxy !== undefined) {
    args.push('--dir', PROXY_FOLDER, '--ro-bind', proxy.relay, PROXY_PLACES.relay);
    args.push('--ro-bind', proxy.socket, PROXY_PLACES.socket);
  }
  for (const path of shown) args.push('--ro-bind', path, path);
  for (const path of writable) args.push('--bind', path, path);
  for (const path of readOnly) args.push('--ro-bind', path, path);
  args.push('--unshare-pid', '--unshare-ipc', '--unshare-uts', '--proc', '/proc');
  // A device on a mount without devices: nobody can open it.
  for (const path of MASKED.filter((each) => existsSync(each))) args.push('--ro-bind', '/dev/null', path);
  // bubblewrap makes them as file systems in memory without a size. In /proc, a command could lower its oom_score_adj.
  for (const path of ['/proc', '/dev', '/']) args.push('--remount-ro', path);
  if (options.ownNetwork) args.push('--unshare-net');
  args.push('--new-session', '--die-with-parent');
  const kept = options.asRoot
    ? ROOT_KEEPS.flatMap((capability) => ['--cap-add', capability])
    : ['--unshare-user'];
  args.push('--cap-drop', 'ALL', ...kept);
  return args;
}

function system(path: string): string[] {
  if (!existsSync(path)) return [];
  if (lstatSync(path).isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
  return ['--ro-bind', path, path];
}

/** All parent directories of the paths, outermost first: bubblewrap itself would make them for their owner only. */
function parents(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    for (let parent = dirname(path); parent !== '/'; parent = dirname(parent)) found.add(parent);
  }
  const provided = ['/usr', '/tmp', '/dev', '/proc'];
  return [...found].filter((path) => !provided.includes(path)).sort((a, b) => a.length - b.length);
}
