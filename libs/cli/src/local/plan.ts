import { join, resolve } from 'node:path';
import { program } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { folderAt } from '../folder/fleet-folder.ts';
import { type Member, OTHER_PORTS, readMembers, workingMembers } from '../folder/members.ts';
import { CONSOLE, TRADER, upper } from '../keys/layout.ts';

export interface PlanOptions {
  /** A fleet folder, or a checkout. */
  readonly root: string;
  /** Folder for everything that the fleet writes; `<root>/.fleet` by default. */
  readonly dir?: string;
  /** Added to every port, so that several fleets can run on one machine. */
  readonly portOffset?: number;
}

/** The names of the processes that serve a fleet of processes, and are none of its services. */
export const PROMETHEUS = 'prometheus';
export const SUPERVISOR = 'supervisor';

/** One process of the fleet. */
export interface PlannedProcess {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  /** Answers 200, or greets as NATS does, when the process is ready. */
  readonly readyUrl: string;
  readonly logFile: string;
}

/** A service of the fleet: a profile, the trader or the console. */
export interface PlannedMember extends PlannedProcess {
  readonly stateDir: string;
  /** Only for services that run commands. */
  readonly workspaceDir?: string;
}

/** The layout of a fleet of plain processes: ports, URLs, files and folders. */
export interface FleetPlan {
  readonly root: string;
  /** The folder with the configuration. */
  readonly home: string;
  readonly dir: string;
  readonly portOffset: number;
  readonly keysDir: string;
  readonly runDir: string;
  readonly cacheDir: string;
  readonly natsStoreDir: string;
  readonly nats: PlannedProcess;
  readonly profiles: readonly (PlannedMember & { readonly workspaceDir: string })[];
  readonly trader: PlannedMember | undefined;
  /** The profiles and the trader. */
  readonly members: readonly PlannedMember[];
  readonly console: PlannedMember;
  /** NATS, the members and the console. */
  readonly processes: readonly PlannedProcess[];
}

/** Plans a fleet of plain processes. Throws CONFIG_INVALID for an invalid list of members, and when the offset moves a port out of range. */
export function planFleet(options: PlanOptions): FleetPlan {
  const { root, home, ...folder } = folderAt(options.root);
  const dir = resolve(options.dir ?? folder.dir);
  const portOffset = options.portOffset ?? 0;
  const at = (port: number): number => port + portOffset;
  const listed = readMembers(home);
  const working = workingMembers(listed);
  const ports = [...working, listed.console].map(({ port }) => port).concat(Object.values(OTHER_PORTS));
  if (!Number.isInteger(portOffset) || at(Math.min(...ports)) < 1 || at(Math.max(...ports)) > 65_535) {
    throw new FleetError(
      'CONFIG_INVALID',
      `a port offset of ${portOffset} puts ports out of the range 1 to 65535`,
    );
  }
  const logFile = (name: string): string => join(dir, 'logs', `${name}.log`);
  const member = ({ name, port: listedPort }: Member): PlannedMember => {
    const port = at(listedPort);
    const url = `http://127.0.0.1:${port}`;
    const stateDir = join(dir, 'state', name);
    return { name, port, url, readyUrl: `${url}/ready`, logFile: logFile(name), stateDir };
  };
  const profiles = listed.profiles.map((each) => ({
    ...member(each),
    workspaceDir: join(dir, 'workspaces', each.name),
  }));
  const trader = listed.trader && member(listed.trader);
  const members = [...profiles, ...(trader ? [trader] : [])];
  const console = member(listed.console);
  const natsPort = at(OTHER_PORTS.nats);
  const nats = {
    name: 'nats',
    port: natsPort,
    url: `nats://127.0.0.1:${natsPort}`,
    readyUrl: `nats://127.0.0.1:${natsPort}`,
    logFile: logFile('nats'),
  };
  return {
    root,
    home,
    dir,
    portOffset,
    keysDir: join(dir, 'keys'),
    runDir: join(dir, 'run'),
    cacheDir: join(dir, 'cache'),
    natsStoreDir: join(dir, 'nats'),
    nats,
    profiles,
    trader,
    members,
    console,
    processes: [nats, ...members, console],
  };
}

/** The entry point of a service, with the argument that names its profile. */
export const commandOf = (name: string): readonly string[] =>
  name === TRADER || name === CONSOLE ? [program(name)] : [program('profile'), '--profile', name];

/** Environment variables that a service and its YAML files read. */
export function memberEnv(
  plan: FleetPlan,
  member: PlannedMember,
): Record<string, string> & { readonly NODE_OPTIONS: string } {
  return {
    HERMES_HOME: plan.home,
    HERMES_KEYS_DIR: join(plan.keysDir, member.name),
    HERMES_STATE_DIR: member.stateDir,
    ...(member.workspaceDir === undefined ? {} : { HERMES_WORKSPACE_DIR: member.workspaceDir }),
    // Caches compiled TypeScript: later starts are faster and use about 20 MB less memory.
    NODE_COMPILE_CACHE: plan.cacheDir,
    // Objects of a request die young: a large young generation is collected less often (docs/performance.md#young-generation).
    // The console serves few, and stays small.
    NODE_OPTIONS: `--max-semi-space-size=${member.name === CONSOLE ? 1 : 32}`,
    BIND_HOST: '127.0.0.1',
    NATS_HOST: '127.0.0.1',
    NATS_PORT: String(plan.nats.port),
    ...Object.fromEntries(
      [...plan.members, plan.console].flatMap(({ name, port }) => [
        [`${upper(name)}_HOST`, '127.0.0.1'],
        [`${upper(name)}_PORT`, String(port)],
      ]),
    ),
  };
}

/**
 * The NODE_OPTIONS of a process: its own, then those of the operator, which take precedence because Node.js uses the last
 * of two values.
 */
export const nodeOptions = (own: string, operators = ''): string => `${own} ${operators}`.trimEnd();

/**
 * The environment of a service that this process starts: its own variables over the inherited ones, except NODE_OPTIONS,
 * of which it has both. Tokens and NATS_* and HERMES_* variables are not inherited, because a variable takes precedence over
 * a key file.
 */
export function serviceEnv(
  plan: FleetPlan,
  member: PlannedMember,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(([name]) => !/^(A2A_HERMES_TOKEN_|NATS_|HERMES_)/.test(name));
  const own = memberEnv(plan, member);
  return {
    ...Object.fromEntries(inherited),
    ...own,
    NODE_OPTIONS: nodeOptions(own.NODE_OPTIONS, env.NODE_OPTIONS),
  };
}
