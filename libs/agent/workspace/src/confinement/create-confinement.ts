import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { readByCommands } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type NextGroup, openCommandGroups } from '../limits/command-groups.ts';
import { type CommandLimits, findProgram, limitedCommand, preferCommands } from '../limits/command-limits.ts';
import { createMemoryWatch } from '../limits/memory-watch.ts';
import { COMMAND_ENV } from '../process/command-env.ts';
import { runCommand } from '../process/run-command.ts';
import { firstLine } from '../process/system-error.ts';
import { askUser } from './ask-user.ts';
import { isRoot } from './command-user.ts';
import { usersFor } from './command-users.ts';
import {
  type Confinement,
  makePassableDirectory,
  makeSharedDirectory,
  type ProxyFiles,
  type ServerPlace,
} from './confinement.ts';
import { describe } from './describe.ts';
import type { AsUserOptions } from './end-user.ts';
import { dropUserRestricted, LANDLOCK_EXEC, probeLandlock } from './landlock.ts';
import { findFilter } from './seccomp/filter.ts';
import { SETTINGS, SYSTEM } from './system-paths.ts';
import { asUser } from './uid-drop.ts';
import type { UserRange } from './user-range.ts';
import { type CommandNetwork, createWrapper, type How, type Programs, type Use } from './wrapper.ts';

export interface ConfinementOptions {
  /** `auto` selects the strongest method that works on this machine. */
  readonly confine: 'auto' | 'bubblewrap' | 'uid' | 'unconfined';
  /** Holds the contexts; created when absent. */
  readonly workspaceRoot: string;
  /** The base repository, when it is outside `workspaceRoot`. */
  readonly repositoryPath?: string | undefined;
  /** Holds the ledger and must not be accessible to commands. */
  readonly stateDir: string;
  /** Files of the gateway that commands must not be able to read, each with its key in config.yaml. */
  readonly secretFiles?: readonly { readonly key: string; readonly file: string }[];
  /** Read-only paths in addition to the system's (`tools.shell.readable`). */
  readonly readable?: readonly string[];
  /** Default `full`. */
  readonly network?: CommandNetwork;
  /** Limits of each command and each stdio MCP server; default: no limits. */
  readonly limits?: CommandLimits;
  /** Paths of the confining programs; default: found on the PATH, and the helper where the image has it. */
  readonly programs?: Partial<Programs>;
  /** The users of the contexts' commands; default: a range of its own for each workspace (`defaultUsers`). */
  readonly users?: UserRange | undefined;
  /** Controllers that control groups of commands need; default: memory. A test asks for others where version 2 has no memory. */
  readonly controllers?: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

const PROBE_MS = 10_000;
const WITHOUT_PRLIMIT =
  '; of tools.shell.limits only memory_mb applies: there is no prlimit (install util-linux)';
const ENABLE =
  'install bubblewrap, or start the gateway with the right to change users, or set tools.shell.confine: unconfined';

/**
 * Probes each method by running a command, and returns the first that works: bubblewrap, then another user, else `none`
 * (SECURITY.md#protections). Throws CONFIG_INVALID when a method that is configured by name does not work, when commands
 * shall have no network and no method with a namespace works, and when the state or a secret file is where commands reach.
 */
export async function createConfinement(options: ConfinementOptions): Promise<Confinement> {
  const { root, readable } = await prepare(options);
  const servers = join(root, 'mcp');
  const confinement = await choose({ ...options, readable }, root, servers);
  // It belongs to the user whom the chosen method gives the servers.
  await makeSharedDirectory(servers, confinement.otherUser);
  return confinement;
}

async function choose(options: ConfinementOptions, root: string, servers: string): Promise<Confinement> {
  const places = join(root, 'mcp-places');
  const { readable = [], network = 'full' } = options;
  const filter = findFilter();
  const programs: Programs = {
    bwrap: 'bwrap',
    setpriv: 'setpriv',
    landlock: LANDLOCK_EXEC,
    ...options.programs,
  };
  const prlimit = findProgram(programs.prlimit ?? 'prlimit', COMMAND_ENV.PATH ?? '');
  const withoutLimits = options.limits !== undefined && prlimit === undefined ? WITHOUT_PRLIMIT : '';
  const { clock, log } = options;
  /** Set once the helper is known to run commands. */
  let helper: How['helper'];
  const shellAs: AsUserOptions['shellAs'] = (user, script, args) => {
    const first = preferCommands();
    const scored = first === '' ? script : `${first}; ${script}`;
    if (helper === undefined) return asUser(programs.setpriv, scored, args, { user });
    const filtered = { paths: undefined, filter: 'file' in filter ? filter.file : undefined, user };
    return dropUserRestricted(programs.landlock, '/bin/sh', ['-c', scored, 'sh', ...args], filtered);
  };
  const asking = { shellAs, clock, log };
  const ask = isRoot() ? undefined : askUser(asking);
  const monitor = options.limits && createMemoryWatch({ limitMb: options.limits.memoryMb, clock, log, ask });
  const build = (
    how: How,
    {
      note = '',
      limits = options.limits,
      nextGroup,
    }: {
      readonly note?: string;
      readonly limits?: CommandLimits | undefined;
      readonly nextGroup?: NextGroup | undefined;
    } = {},
  ): Confinement => {
    const limited = (lasting: boolean) =>
      limits && limitedCommand(limits, { prlimit, countProcesses: how.method !== 'unconfined', lasting });
    const parts = { readable, programs, network, filter, monitor, nextGroup };
    const wrap = createWrapper(how, { ...parts, command: limited(false), server: limited(true) });
    const otherUser = (how.method === 'bubblewrap' && isRoot()) || how.method === 'uid';
    const launchIn =
      (directory: string, use: Use): ServerPlace['wrap'] =>
      (command, args, proxy?: ProxyFiles) =>
        wrap(command, args, { writable: [directory], readOnly: [], proxy }, use);
    return {
      method: how.method,
      note: note + withoutLimits,
      otherUser,
      wrap: (command, args, reach) => wrap(command, args, reach, 'command'),
      launch: launchIn(servers, 'server'),
      async serverPlace(name) {
        // Its parent is the gateway's: in a folder of the servers, one could put a link to any place here.
        await makePassableDirectory(places, otherUser);
        const dir = join(places, createHash('sha256').update(name).digest('hex').slice(0, 16));
        await makeSharedDirectory(dir, otherUser);
        return { dir, wrap: launchIn(dir, 'probe') };
      },
    };
  };
  if (network !== 'full' && !['auto', 'bubblewrap'].includes(options.confine))
    throw noNetworkNamespace(network, `${options.confine} has no namespace`);
  if (options.confine === 'unconfined') {
    const note = "shell commands run UNCONFINED: they can read this gateway's secrets";
    return build({ method: 'unconfined' }, { note });
  }
  const reasons: string[] = [];
  for (const how of CANDIDATES) {
    const { method } = how;
    if (options.confine !== 'auto' && options.confine !== method) continue;
    if (network !== 'full' && method !== 'bubblewrap') continue;
    const landlock = method === 'uid' ? await probeLandlock(programs.landlock, options.clock) : undefined;
    const restricts = landlock !== undefined && 'abi' in landlock;
    const filters = landlock !== undefined && 'missing' in landlock && landlock.filters;
    const all: How = { ...how, helper: restricts ? 'restricts' : filters ? 'filters' : undefined };
    // Other processes of the same user may take all the room; that says nothing about the method.
    const uncounted = options.limits && { ...options.limits, processes: 0 };
    const reason = await probe(build(all, { limits: uncounted }), root, options);
    if (reason === undefined) {
      const { limits, controllers } = options;
      const groups = limits && openCommandGroups({ memoryMb: limits.memoryMb, controllers, clock, log });
      const candidate = build(all, { nextGroup: groups?.nextGroup });
      helper = all.helper;
      const parts = { root, users: options.users, ...asking };
      const found = candidate.otherUser ? await usersFor(candidate.wrap, parts) : undefined;
      const withoutUsers = found && 'missing' in found ? found.missing : undefined;
      const note = describe({ ...how, filter, network, landlock, withoutUsers, groups, asRoot: isRoot() });
      const sharesUser = method === 'uid' && !restricts && withoutUsers !== undefined;
      const users = found && 'users' in found && found;
      return { ...candidate, note: note + withoutLimits, sharesUser, ...users };
    }
    reasons.push(`${method}: ${reason}`);
  }
  const why = [...new Set(reasons)].join('; ');
  if (network !== 'full') throw noNetworkNamespace(network, why);
  if (options.confine !== 'auto') {
    const reason = `${options.confine} does not work here (${why}); use auto`;
    throw FleetError.ofKey('config.yaml tools.shell.confine', reason);
  }
  const note = `shell_exec is off: nothing confines commands here (${why}); ${ENABLE}`;
  return build({ method: 'none' }, { note });
}

const noNetworkNamespace = (network: CommandNetwork, why: string): FleetError =>
  FleetError.ofKey(
    'config.yaml tools.shell.network',
    `${network} needs bubblewrap, which does not confine commands here (${why}); install bubblewrap, or set tools.shell.network: full`,
  );

const CANDIDATES: readonly How[] = [
  { method: 'bubblewrap' },
  { method: 'uid', marked: true },
  { method: 'uid' },
];

/**
 * Returns the real path of the workspace, and all readable paths. Throws CONFIG_INVALID when the state directory is inside
 * the workspace or the repository, or a secret file there or in a readable path, also through a symlink.
 */
async function prepare(options: ConfinementOptions): Promise<{ root: string; readable: string[] }> {
  await mkdir(options.workspaceRoot, { recursive: true });
  const root = await realpath(options.workspaceRoot);
  const repository = options.repositoryPath ? [await realRepository(options.repositoryPath)] : [];
  const state = await realpath(options.stateDir).catch(() => resolve(options.stateDir));
  if ([root, ...repository].some((path) => isWithin(path, state))) {
    throw new FleetError(
      'CONFIG_INVALID',
      'the state directory is inside the workspace, where commands can access it; move it out of the workspace',
    );
  }
  const readable = await readablePaths(options.readable ?? []);
  const reached = [root, ...repository, ...readable, ...SYSTEM, ...SETTINGS];
  for (const { key, file } of options.secretFiles ?? []) {
    const secret = await realpath(file).catch(() => resolve(file));
    const open = reached.find((path) => isWithin(path, secret));
    if (open)
      throw FleetError.ofKey(
        `config.yaml ${key}`,
        `${secret} is in ${open}, which commands can read; move it to a folder of the gateway's own, e.g. beside config.yaml`,
      );
  }
  return { root, readable };
}

const isWithin = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep);

async function realRepository(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    throw FleetError.ofKey('config.yaml workspace.path', `${path} does not exist or cannot be read`, cause);
  }
}

/** Includes the running Node and the packages beside it, because MCP servers start as `node …/server.js`. */
async function readablePaths(configured: readonly string[]): Promise<string[]> {
  const own = [dirname(process.execPath), readByCommands()];
  const found = [...own, ...configured].filter((path) => existsSync(path));
  const real = await Promise.all(found.map((path) => realpath(path)));
  return [...new Set([...found, ...real])].filter((path) => !path.startsWith('/usr/'));
}

/**
 * Returns why the method does not work here, undefined when it does: a command must be able to write to the workspace
 * and must not be able to read the state directory.
 */
async function probe(
  candidate: Confinement,
  root: string,
  options: ConfinementOptions,
): Promise<string | undefined> {
  const contexts = join(root, 'contexts');
  const directory = join(contexts, `.probe-${randomUUID()}`);
  try {
    await openToCommands(root, candidate.otherUser);
    await makePassableDirectory(contexts, candidate.otherUser);
    await makeSharedDirectory(directory, candidate.otherUser);
    const line = candidate.wrap('/bin/sh', ['-c', PROBE, 'sh', directory, resolve(options.stateDir)], {
      writable: [directory],
      readOnly: [],
    });
    const result = await runCommand(line, { cwd: directory, timeoutMs: PROBE_MS, clock: options.clock });
    if (result.exitCode === 0) return undefined;
    options.log.debug(
      { method: candidate.method, ...result },
      'confinement method does not work on this machine',
    );
    return PROBE_REASONS[result.exitCode ?? -1] ?? firstLine(result.stderr, FAILED);
  } catch (error) {
    return error instanceof Error ? firstLine(error.message, FAILED) : FAILED;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const PROBE = 'cd "$1" && touch probe && rm probe || exit 80; ls "$2" >/dev/null 2>&1 && exit 81; exit 0';

const FAILED = 'the probe failed';
const PROBE_REASONS: Readonly<Record<number, string>> = {
  80: 'the workspace is not reachable and writable for the commands’ user (uid 1001, gid 1001)',
  81: 'the state directory is readable for the commands’ user; give it mode 0700',
};

/** Lets commands of another user pass through the root of the workspace without being able to change it. */
async function openToCommands(root: string, otherUser: boolean): Promise<void> {
  if (!otherUser) return;
  const { uid, mode } = await stat(root);
  if (uid !== process.getuid?.()) return;
  await chmod(root, (mode | 0o011) & ~0o022 & 0o7777);
}
