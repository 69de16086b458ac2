import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import { ownCommand } from '../command-line/own-command.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { CONSOLE } from '../keys/layout.ts';
import { GRACE_MS } from '../local/grace.ts';
import { compose, hasEngine } from './docker.ts';
import { buildForFolder } from './image.ts';
import { lastLine } from './inside.ts';
import { listContainers, runningService } from './list-containers.ts';
import { forcedMode, refuseSecondFleet, rememberContainers } from './mode.ts';
import { preflight } from './preflight.ts';
import { changedContainers, recordContainers, recreate, restartContainers } from './restart.ts';
import { revisionOf } from './revision.ts';

const START_MS = 10 * 60_000;
const GRAFANA = 'grafana';
/** Every profile of the Compose file whose services may run after an `up`. */
const ALL_PROFILES = 'grafana,welcome,events';

export interface ContainersIn {
  readonly folder: FleetFolder;
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export interface StartContainers extends ContainersIn {
  /** False: running services that have changed run on. */
  readonly withRestarts: boolean;
  /** Ends the start, which throws its reason: what runs then runs on. */
  readonly signal: AbortSignal;
}

/**
 * Builds the image, restarts running services that have changed, one at a time, starts the fleet in containers and waits until it
 * is healthy; then the console and Grafana, without which it runs too. Returns false after saying why a service does not start. Throws PEER_UNREACHABLE without an engine, and
 * CONFIG_INVALID beside a fleet of processes.
 */
export async function startContainers({
  folder,
  env: given,
  stdout,
  stderr,
  withRestarts,
  signal,
}: StartContainers): Promise<boolean> {
  await requireEngine(given);
  await refuseSecondFleet(folder, given, 'docker');
  const checked = await preflight(folder, 'up', { env: given, stderr });
  if (checked === undefined) return false;
  const isFolder = folder.root === folder.home;
  if (isFolder) await buildForFolder(folder, { env: checked, stderr });
  stdout.write('starting the fleet in containers\n');
  const ofCheckout = isFolder ? {} : { FLEET_REVISION: given.FLEET_REVISION ?? revisionOf(folder) };
  const env = { ...checked, COMPOSE_PROFILES: '', ...ofCheckout };
  rememberContainers(folder);
  makeReadable(folder);
  await reloadNats(folder, env, signal);
  const changed = await changedContainers({ folder, env });
  if (!withRestarts)
    for (const { service, change } of changed) stdout.write(`${service} runs on, although ${change}\n`);
  else if (!(await restartContainers({ folder, env, stdout, stderr, signal }, changed))) {
    await reportFailure({ folder, env, stderr });
    return false;
  }
  const left = withRestarts ? [] : ['--no-recreate'];
  const services = await compose(folder, ['config', '--services'], { output: 'text', env });
  const names = services.stdout.split('\n').filter((name) => name !== '' && name !== CONSOLE);
  const start = ['up', '--build', '--detach', '--wait', ...left, ...names];
  if ((await compose(folder, start, { output: 'inherit', env, signal })).code !== 0) {
    await reportFailure({ folder, env, stderr });
    return false;
  }
  const optional = async (service: string, name: string, more = ''): Promise<void> => {
    const one = { ...env, COMPOSE_PROFILES: service === GRAFANA ? GRAFANA : '' };
    const change = changed.find((each) => each.service === service)?.change;
    const isRestarted = withRestarts && change !== undefined;
    if (isRestarted) stdout.write(`${service} is restarted: ${change}\n`);
    const args = isRestarted ? recreate(GRACE_MS, service) : ['up', '--detach', '--wait', ...left, service];
    const { code, stderr: why } = await compose(folder, args, {
      output: 'text',
      env: one,
      signal,
      timeoutMs: START_MS,
    });
    if (code !== 0) stdout.write(`the fleet runs without ${name}: ${lastLine(why)}${more}\n`);
  };
  await optional(CONSOLE, 'the console', '; docker compose logs console says more');
  await optional(GRAFANA, 'Grafana');
  await recordContainers({ folder, env });
  return true;
}

async function requireEngine(env: NodeJS.ProcessEnv): Promise<void> {
  if (await hasEngine(env)) return;
  throw new FleetError(
    'CONFIG_INVALID',
    forcedMode(env) === 'docker'
      ? 'FLEET_MODE=docker, but no Docker engine with Compose answers'
      : `the fleet runs in containers, but no Docker engine with Compose answers: start the engine, or FLEET_MODE=process ${ownCommand('up')}`,
  );
}

/** The users of the containers read these files through bind mounts, even if a strict umask made them private. */
function makeReadable({ home }: FleetFolder): void {
  for (const name of ['profiles', 'trader', CONSOLE, 'prometheus', GRAFANA])
    if (existsSync(join(home, name))) readable(join(home, name));
}

function readable(path: string): void {
  const { mode } = statSync(path);
  const isFolder = (mode & 0o170000) === 0o040000;
  const wanted = mode | (isFolder || mode & 0o111 ? 0o555 : 0o444);
  if ((mode & 0o004) === 0) chmodSync(path, wanted & 0o7777);
  if (!isFolder) return;
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (!['state', 'workspace'].includes(entry.name) && (entry.isDirectory() || entry.isFile()))
      readable(join(path, entry.name));
}

/** A NATS server that keeps running does not know the users of services that were added since. */
async function reloadNats(folder: FleetFolder, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  if (!runningService(await listContainers(folder, env), 'nats')) return;
  const init = ['run', '--build', '--rm', '--no-deps', '-T', 'keys'];
  for (const args of [init, ['kill', '--signal', 'HUP', 'nats']]) {
    const { code } = await compose(folder, args, { output: 'inherit', env, signal });
    if (code !== 0) throw new FleetError('CONFIG_INVALID', `docker compose ${args.join(' ')} failed`);
  }
}

/** After a failed start: the services that are not healthy, with the end of their logs. */
async function reportFailure({ folder, env, stderr }: Omit<ContainersIn, 'stdout'>): Promise<void> {
  for (const { service, state, health, exitCode } of await listContainers(folder, env)) {
    const isWell = state === 'running' && (health === 'healthy' || health === '');
    if (isWell || (state === 'exited' && exitCode === 0)) continue;
    if (state === 'created') {
      stderr.write(`${service} was not started\n`);
      continue;
    }
    const found = `${state}${health === '' ? '' : `, ${health}`}`;
    stderr.write(`${service} is ${found}, exit code ${exitCode}; the end of its log:\n`);
    const tail = ['logs', '--tail', '20', '--no-color', '--no-log-prefix', service];
    stderr.write((await compose(folder, tail, { output: 'text', env })).stdout);
  }
  stderr.write(
    `the fleet is not up, for the reason above; the other containers keep running: ${ownCommand('down')} stops them\n`,
  );
}

/** Stops the containers of the fleet; their volumes stay. Returns the exit code. */
export async function stopContainers({ folder, env, stderr }: Omit<ContainersIn, 'stdout'>): Promise<number> {
  if (!(await preflight(folder, 'down', { env, stderr }))) return 1;
  const all = { ...env, COMPOSE_PROFILES: ALL_PROFILES };
  return (await compose(folder, ['down'], { output: 'inherit', env: all })).code;
}
