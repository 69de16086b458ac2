import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { CloudEvent } from '@hermes-fleet/protocol';
import { ROOT, runProgram, until } from './fleet.ts';
import type { Target } from './rpc.ts';

export const PROFILES: readonly string[] = ['switch', 'neo', 'morpheus', 'trinity'];
export const MEMBERS: readonly string[] = [...PROFILES, 'trader'];
const PORTS: Readonly<Record<string, number>> = {
  switch: 9219,
  neo: 9220,
  morpheus: 9221,
  trinity: 9222,
  trader: 9223,
  console: 9224,
  prometheus: 9090,
};
const UP_MS = 300_000;
const COMMAND_MS = 120_000;
/** Containers that stay behind go on with their health checks, which slow down all later tests. */
const DOWN_MS = 240_000;

/** The types of the events that end a task. */
export const ENDED = /\.task\.(done|partial|error|blocked|canceled)\.v1$/;

/** The ends of a profile's tasks, by the callers' names for them. */
export const ends = (events: readonly CloudEvent[], profile: string): string[] =>
  events
    .filter(({ source, type }) => source === `/profiles/${profile}` && ENDED.test(type))
    .map(({ data }) => String(data.task_id));

/** Of `docker inspect`, what the tests look at. */
export interface Inspected {
  readonly State: {
    readonly Status: string;
    readonly StartedAt: string;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
  };
  readonly Config: { readonly Env: readonly string[] };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly Privileged: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly CapAdd: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
    readonly Memory: number;
    readonly PidsLimit: number | null;
    readonly Init: boolean | null;
  };
  readonly NetworkSettings: {
    readonly Ports: Readonly<Record<string, readonly { readonly HostIp: string }[] | null>>;
  };
}

/** A whole fleet in containers, as a separate Compose project. */
export interface ComposeFleet {
  readonly operatorToken: string;
  readonly image: string;
  /** `docker compose` for this project; its output. Throws when it fails. */
  compose(...args: string[]): Promise<string>;
  /** Starts what does not run and waits until it is healthy. */
  up(): Promise<void>;
  /** The profile as the operator sees it, or as whoever has this token. */
  target(profile: string, token?: string): Promise<Target>;
  /** Where a service is published on this machine. */
  url(service: string): Promise<string>;
  container(service: string): Promise<string>;
  inspect(service: string): Promise<Inspected>;
  /** Runs a shell script in a profile's container as the gateway's user, which shares the workspace's group. */
  inside(service: string, script: string): Promise<string>;
  /** Waits until a shell command there succeeds, which is tried ten times a second for a minute. */
  untilInside(service: string, condition: string): Promise<void>;
  /** Runs a shell script in a container of the keys job: it sees every key. */
  withKeys(script: string): Promise<string>;
  /** SIGKILL for all of a container, which stays down. */
  kill(service: string): Promise<void>;
  /** Starts a container that was killed or stopped; resolves when a member of the fleet is ready again. */
  start(service: string): Promise<void>;
  /** Reads the event stream from its start, as the operator, until `enough` says so. */
  readEvents(enough: (events: readonly CloudEvent[]) => boolean): Promise<CloudEvent[]>;
  /** The ids of all lifecycle events in the ledgers of the profiles, which must be stopped, in order. */
  ledgerIds(): Promise<Readonly<Record<string, readonly string[]>>>;
}

/** The name, ports and image of a test's fleet, which no other fleet on this machine has. */
export interface ComposeProject {
  readonly name: string;
  readonly image: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * A project that collides with no other: the engine chooses the ports. The image's name is that of this checkout, so
 * that what was built stays and is found again. Everything is taken down when the test ends, also by a signal.
 */
export function composeProject(t: TestContext, env: NodeJS.ProcessEnv = {}): ComposeProject {
  const name = `hermes-test-${randomBytes(4).toString('hex')}`;
  const image = `hermes-fleet:test-${createHash('sha256').update(ROOT).digest('hex').slice(0, 8)}`;
  const project: ComposeProject = {
    name,
    image,
    env: {
      ...process.env,
      COMPOSE_PROJECT_NAME: name,
      COMPOSE_PROFILES: '',
      FLEET_IMAGE: image,
      ...Object.fromEntries([...MEMBERS, 'console', 'prometheus', 'grafana'].map(portVariable)),
      ...env,
    },
  };
  const down = (): void => {
    const args = ['compose', 'down', '--volumes', '--remove-orphans', '--timeout', '2'];
    spawnSync('docker', args, { cwd: ROOT, env: project.env, stdio: 'ignore', timeout: DOWN_MS });
    spawnSync('docker', ['volume', 'rm', '--force', `${name}_checkout`], { stdio: 'ignore' });
  };
  const interrupted = (): void => {
    down();
    process.exit(1);
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, interrupted);
  t.after(() => {
    for (const signal of signals) process.off(signal, interrupted);
    down();
  });
  return project;
}

const portVariable = (service: string): [string, string] => [`${service.toUpperCase()}_PORT`, '0'];

/** Builds and starts the fleet, and takes it down when the test ends. */
export async function startComposeFleet(t: TestContext): Promise<ComposeFleet> {
  const project = composeProject(t);
  const urls = new Map<string, string>();
  /** The container ids by service, because asking Compose for one takes about a second of CPU time. */
  const containers = new Map<string, string>();

  const docker = async (args: readonly string[], timeoutMs = COMMAND_MS): Promise<string> => {
    const { code, stdout, stderr } = await runProgram('docker', args, { env: project.env, timeoutMs });
    if (code !== 0) throw new Error(`docker ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const compose = (...args: string[]): Promise<string> => docker(['compose', ...args]);
  const container = async (service: string): Promise<string> => {
    const id = containers.get(service) ?? (await compose('ps', '--all', '--quiet', service)).trim();
    if (id !== '') containers.set(service, id);
    return id;
  };
  const inside = async (service: string, script: string): Promise<string> =>
    docker(['exec', '--user', '1000:1001', await container(service), 'sh', '-c', script]);
  const url = async (service: string): Promise<string> => {
    const known = urls.get(service);
    if (known !== undefined) return known;
    const found = `http://${(await compose('port', service, String(PORTS[service]))).trim()}`;
    urls.set(service, found);
    return found;
  };
  const up = async (...options: string[]): Promise<void> => {
    urls.clear();
    containers.clear();
    await docker(['compose', 'up', ...options, '--detach', '--wait'], UP_MS);
  };
  const withKeys = (script: string): Promise<string> =>
    compose(...'run --rm --no-deps -T --user 1000:1000 --entrypoint sh keys -c'.split(' '), script);
  const helper = (name: string, script: string, ...options: string[]): string[] => [
    ...['run', '--rm', '--init', '--name', `${project.name}-${name}`, '--user', '1000:1000'],
    ...['--volume', `${ROOT}:/checkout:ro`, ...options],
    ...['--entrypoint', 'node', project.image, `/checkout/test/support/containers/${script}`],
  ];

  await up('--build').catch(async (error: unknown) => {
    const logs = await compose('logs', '--tail', '20', '--no-color');
    throw new Error(`the fleet did not start\n${logs}`, { cause: error });
  });
  const operatorToken = (await compose('run', '--rm', '--no-deps', '-T', 'keys', 'token')).trim();

  return {
    operatorToken,
    image: project.image,
    compose,
    up: () => up(),
    target: async (profile, token = operatorToken) => ({ url: await url(profile), token }),
    url,
    container,
    inspect: async (service) => {
      const [found]: Inspected[] = JSON.parse(await docker(['inspect', await container(service)]));
      if (!found) throw new Error(`there is no container of ${service}`);
      return found;
    },
    inside,
    untilInside: async (service, condition) => {
      const wait = `i=0; until ${condition}; do i=$((i+1)); [ $i -lt 600 ] || { echo 'waited a minute'; exit 1; }; sleep 0.1; done`;
      await inside(service, wait);
    },
    withKeys,
    kill: async (service) => {
      urls.delete(service);
      const id = await container(service);
      await docker(['kill', '--signal', 'KILL', id]);
      await docker(['wait', id]);
    },
    start: async (service) => {
      urls.delete(service);
      await docker(['start', await container(service)]);
      if (!MEMBERS.includes(service)) return;
      const ready = `${await url(service)}/ready`;
      await until(() => answers(ready), `${service} to be ready again`);
    },
    readEvents: (enough) => {
      const name = `events-${randomBytes(3).toString('hex')}`;
      const keys = `${project.name}_keys-operator:/run/keys:ro`;
      const args = helper(name, 'read-stream.ts', '--network', `${project.name}_fleet`, '--volume', keys);
      return readLines(args, `${project.name}-${name}`, enough);
    },
    ledgerIds: async () => {
      const ledgers = PROFILES.flatMap((name) => [
        '--volume',
        `${project.name}_state-${name}:/ledgers/${name}`,
      ]);
      const args = helper('ledgers', 'read-ledgers.ts', '--network', 'none', ...ledgers);
      return JSON.parse(await docker(args));
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    // Not up yet: asked again until the deadline.
    return false;
  }
}

/** Follows a container that prints one event a line until there are enough, and removes it. */
async function readLines(
  args: readonly string[],
  name: string,
  enough: (events: readonly CloudEvent[]) => boolean,
): Promise<CloudEvent[]> {
  const events: CloudEvent[] = [];
  const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const deadline = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      events.push(JSON.parse(line));
      if (enough(events)) return events;
    }
    throw new Error(`only ${events.length} events came in ${COMMAND_MS} ms: ${errors}`);
  } finally {
    clearTimeout(deadline);
    child.kill('SIGKILL');
    spawnSync('docker', ['rm', '--force', name], { stdio: 'ignore', timeout: COMMAND_MS });
  }
}
