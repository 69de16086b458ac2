import { spawnSync } from 'node:child_process';
import { supportsSyncInterval } from '@hermes-fleet/events';
import { FleetError } from '@hermes-fleet/protocol';

export interface NatsServer {
  readonly command: string;
  readonly version: string;
  /** Whether it can fsync every event before it acknowledges it. */
  readonly syncAlways: boolean;
}

/** The nats-server on the PATH. Throws CONFIG_INVALID, saying what to install, where there is none. */
export function findNatsServer(env: NodeJS.ProcessEnv): NatsServer {
  const command = 'nats-server';
  const asked = spawnSync(command, ['--version'], { encoding: 'utf8', env, timeout: 10_000 });
  const version = /v?(\d+\.\d+\.\d+)/.exec(`${asked.stdout ?? ''}${asked.stderr ?? ''}`)?.[1];
  if (asked.error !== undefined || version === undefined) {
    throw new FleetError(
      'CONFIG_INVALID',
      'no nats-server on the PATH: install it (Debian: apt-get install nats-server), or start Docker and use the containers',
      { cause: asked.error },
    );
  }
  return { command, version, syncAlways: supportsSyncInterval(version) };
}
