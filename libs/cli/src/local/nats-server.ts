import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { supportsSyncInterval } from '@hermes-fleet/events';
import { FleetError } from '@hermes-fleet/protocol';

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
