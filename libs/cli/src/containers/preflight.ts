import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { Writable } from 'node:stream';
import { quote } from '../command-line/option-values.ts';
import { ownCommand } from '../command-line/own-command.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { onHost } from './docker.ts';
import { moveToFreePorts } from './first-ports.ts';
import {
  type Call,
  callDocker,
  ofProject,
  type Project,
  type PublishedPort,
  portVariable,
  projectOf,
  type TakenPort,
  takenPorts,
} from './project.ts';

/** The fleet runs without these where they do not start. */
const OPTIONAL: ReadonlySet<string> = new Set(['console', 'grafana']);
const LABEL = 'hermes-fleet.checkout';

/**
 * Checks before `up` and `down` change containers (docs/operations.md#several-checkouts): the Compose project is of
 * this folder, which `up` records, and for `up` the ports are free; a fleet folder is given others at its first start. Returns the
 * environment for Compose, or undefined after saying on stderr what is wrong and the way out; nothing has changed then.
 */
export async function preflight(
  folder: FleetFolder,
  verb: 'up' | 'down',
  { env, stderr }: { readonly env: NodeJS.ProcessEnv; readonly stderr: Writable },
): Promise<NodeJS.ProcessEnv | undefined> {
  const project = await projectOf(folder, env);
  // Compose itself says why it cannot read its file.
  if (project === undefined) return env;
  const call = callDocker(env);
  const say = (lines: readonly string[]): undefined =>
    void stderr.write(lines.map((line) => `${line}\n`).join(''));
  const root = realpathSync(folder.root);
  const other = await otherFolder(root, project.name, call);
  if (other) return say(claimed(project, folder, other, verb));
  if (verb === 'down') return env;
  const taken = await takenPorts(project, call);
  const isChosen = project.ports.some(({ service }) => env[portVariable(service)]);
  const mayMove = folder.root === folder.home && !isChosen && (await recordOf(project.name, call)) === '';
  if (taken.length > 0 && mayMove) {
    const moved = await moveToFreePorts(folder, project, { call, stderr });
    await record(root, project.name, call);
    return { ...env, ...moved };
  }
  if (taken.length > 0) say(taken.map(inUse));
  const needed = taken.filter(({ service }) => !OPTIONAL.has(service));
  if (needed.length > 0) {
    const ways = needed.map(otherPort).join(' ');
    return say([
      `nothing was started: stop what has the port, or set the variable, in .env.local or for one command: ${ways} ${ownCommand('up')}`,
    ]);
  }
  await record(root, project.name, call);
  return env;
}

/** A folder that has the project, which is a checkout or a fleet folder. */
interface Other {
  readonly folder: string;
  readonly isCheckout: boolean;
}

/** Prints those of the folders that have a Compose file. */
const WITH_COMPOSE_FILE = `for folder; do
  for file in docker-compose.yml compose.yaml; do
    if [ -f "$folder/$file" ]; then echo "$file $(cd "$folder" && pwd -P)"; break; fi
  done
done`;

/** Another folder that has the containers or volumes of the project. One that is gone, or was moved, has nothing to lose. */
async function otherFolder(root: string, name: string, call: Call): Promise<Other | undefined> {
  const format = '{{.Label "com.docker.compose.project.working_dir"}}';
  const containers = await call('ps', '--all', '--filter', ofProject(name), '--format', format);
  const volumes = await call('volume', 'ls', '--quiet', '--filter', ofProject(name));
  const recorded = volumes === '' ? '' : await recordOf(name, call);
  const folders = new Set([...containers.split('\n'), recorded].filter((each) => each !== ''));
  // A command in a container sees nothing of another folder.
  const { stdout } = await onHost(['sh', '-c', WITH_COMPOSE_FILE, 'sh', ...folders], { output: 'text' });
  for (const [, file, folder = ''] of stdout.matchAll(/^(\S+) (.*)$/gm))
    if (folder !== root) return { folder, isCheckout: file === 'docker-compose.yml' };
  return undefined;
}

/** Volumes do not say which folder made them, and they outlive the containers. This one, which stays empty, has a label. */
const recordVolume = (name: string): string => `${name}_checkout`;

/** Empty where nothing is recorded. */
const recordOf = (name: string, call: Call): Promise<string> =>
  call('volume', 'ls', '--filter', `name=^${recordVolume(name)}$`, '--format', `{{.Label "${LABEL}"}}`);

async function record(root: string, name: string, call: Call): Promise<void> {
  if ((await recordOf(name, call)) === root) return;
  await call('volume', 'rm', '--force', recordVolume(name));
  await call('volume', 'create', '--label', `${LABEL}=${root}`, recordVolume(name));
}

function claimed(
  { name, ports }: Project,
  { root, home }: FleetFolder,
  { folder, isCheckout }: Other,
  verb: 'up' | 'down',
): string[] {
  const kind = isCheckout ? 'checkout' : 'fleet folder';
  const down = isCheckout ? `make -C ${quote(folder)} down` : `FLEET_FOLDER=${quote(folder)} fleet down`;
  const first = `the containers and volumes of the Compose project ${name} are of the ${kind} ${folder}, not of this one`;
  if (verb === 'down') return [first, `to stop them: ${down}`];
  const own = `${name}-${basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '')}`;
  return [
    first,
    `for a fleet of its own beside that one, add these lines to .env.local, and ${ownCommand('up')} again:`,
    '',
    `COMPOSE_PROJECT_NAME=${own}`,
    // The image of a fleet folder is that of the program.
    ...(root === home ? [] : [`FLEET_IMAGE=${own}:local`]),
    ...ports.map(otherPort),
    '',
    `to give them to this one instead: ${down} && docker volume rm ${recordVolume(name)}`,
  ];
}

const otherPort = ({ service, port }: PublishedPort): string =>
  `${portVariable(service)}=${Number(port) + 1000}`;

function inUse(taken: TakenPort): string {
  const without = OPTIONAL.has(taken.service) ? ', so the fleet runs without it' : '';
  return `port ${taken.port} of ${taken.service} is in use by ${taken.owner}${without}; ${otherPort(taken)} gives it another`;
}
