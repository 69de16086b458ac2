import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { supportsSyncInterval } from '@hermes-fleet/events';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { ownCommand } from '../command-line/own-command.ts';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

const INTERVAL_MS = 50;
const RELOAD_MS = 10_000;
const ACCEPTED = 'Reloaded server configuration';
/** Matches the line that nats-server logs after SIGHUP. */
const RELOADED = new RegExp(`${ACCEPTED}|Failed to reload server configuration`);

/** Debian and others install servers here, which is rarely on the PATH of a user other than root. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];

/**
 * Finds nats-server: NATS_SERVER_BIN, else on the PATH, else in the usual folders for servers. `syncAlways`: this version can fsync
 * every event before it acknowledges it. Throws CONFIG_INVALID that says what to install.
 */
export function findNatsServer(env: NodeJS.ProcessEnv) {
  const command = env.NATS_SERVER_BIN ?? findProgram('nats-server', env, SERVER_FOLDERS) ?? 'nats-server';
  const run = spawnSync(command, ['--version'], { encoding: 'utf8', env, timeout: 10_000 });
  const version = /v?(\d+\.\d+\.\d+)/.exec(`${run.stdout ?? ''}${run.stderr ?? ''}`)?.[1];
  if (run.error !== undefined || version === undefined) {
    throw new FleetError(
      'CONFIG_INVALID',
      'there is no nats-server: install it (Debian: apt-get install nats-server), or start Docker and use the containers',
      { cause: run.error },
    );
  }
  return { command, version, syncAlways: supportsSyncInterval(version) };
}

/** The file of a program on the PATH, or else in one of `more` folders; undefined without one. */
export const findProgram = (
  name: string,
  { PATH = '' }: NodeJS.ProcessEnv,
  more: readonly string[] = [],
): string | undefined =>
  [...PATH.split(delimiter), ...more]
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a running NATS server reload its configuration, so that it knows the users of services that were added. Throws
 * CONFIG_INVALID when the server does not accept the configuration.
 */
export async function reloadNats(plan: FleetPlan, clock: Clock): Promise<void> {
  const running = runningProcess(plan.runDir, plan.nats.name);
  if (running === undefined) return;
  const { logFile } = plan.nats;
  const from = readFileSync(logFile).length;
  const answer = (): string | undefined =>
    RELOADED.exec(readFileSync(logFile).subarray(from).toString('utf8'))?.[0];
  process.kill(running.pid, 'SIGHUP');
  const giveUpAt = clock.now() + RELOAD_MS;
  for (let told = answer(); told !== ACCEPTED; told = answer()) {
    if (told !== undefined || clock.now() >= giveUpAt)
      throw new FleetError(
        'CONFIG_INVALID',
        `NATS does not accept its new configuration: ${ownCommand('down')}, then ${ownCommand('up')}; ${plan.nats.logFile} says why`,
      );
    await clock.sleep(INTERVAL_MS);
  }
}
