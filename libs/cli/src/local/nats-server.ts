import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { supportsSyncInterval } from '@hermes-fleet/events';
import { type Clock, FleetError } from '@hermes-fleet/protocol';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

const INTERVAL_MS = 50;
const GIVE_UP_MS = 10_000;
const REQUEST_MS = 2_000;

/**
 * Has the NATS server that runs read its configuration again: a service that was added is a user that it does not know.
 * Throws CONFIG_INVALID when it does not take it.
 */
export async function reloadNats(plan: FleetPlan, clock: Clock): Promise<void> {
  const running = runningProcess(plan.runDir, plan.nats.name);
  if (running === undefined) return;
  const before = await loadedAt(plan);
  process.kill(running.pid, 'SIGHUP');
  const giveUpAt = clock.now() + GIVE_UP_MS;
  while ((await loadedAt(plan)) === before) {
    if (clock.now() >= giveUpAt)
      throw new FleetError(
        'CONFIG_INVALID',
        `NATS does not take its new configuration: make down, then make up; ${plan.nats.logFile} says why`,
      );
    await clock.sleep(INTERVAL_MS);
  }
}

/** When the server last read its configuration, in its own words. */
async function loadedAt({ natsMonitorPort }: FleetPlan): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${natsMonitorPort}/varz`, {
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const varz: unknown = await reply.json();
  if (typeof varz !== 'object' || varz === null || !('config_load_time' in varz)) return '';
  return String(varz.config_load_time);
}

export interface NatsServer {
  readonly command: string;
  readonly version: string;
  /** Whether it can fsync every event before it acknowledges it. */
  readonly syncAlways: boolean;
}

/** Where Debian and others install servers: seldom on the PATH of users other than root. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];

/**
 * The nats-server that NATS_SERVER_BIN names, else the one on the PATH, else where systems keep their servers. Throws
 * CONFIG_INVALID, saying what to install, where there is none.
 */
export function findNatsServer(env: NodeJS.ProcessEnv): NatsServer {
  const folders = [...(env.PATH ?? '').split(delimiter), ...SERVER_FOLDERS].filter((folder) => folder !== '');
  const found = folders.map((folder) => join(folder, 'nats-server')).find(isExecutable);
  const command = env.NATS_SERVER_BIN ?? found ?? 'nats-server';
  const asked = spawnSync(command, ['--version'], { encoding: 'utf8', env, timeout: 10_000 });
  const version = /v?(\d+\.\d+\.\d+)/.exec(`${asked.stdout ?? ''}${asked.stderr ?? ''}`)?.[1];
  if (asked.error !== undefined || version === undefined) {
    throw new FleetError(
      'CONFIG_INVALID',
      'there is no nats-server: install it (Debian: apt-get install nats-server), or start Docker and use the containers',
      { cause: asked.error },
    );
  }
  return { command, version, syncAlways: supportsSyncInterval(version) };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
