import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { stringify } from 'yaml';
import { ROOT, until } from './fleet.ts';
import { freeOffset } from './ports.ts';

interface Service {
  readonly cap_add: string[];
  readonly security_opt: string[];
  readonly tmpfs: string[];
  readonly mem_limit: string;
  readonly pids_limit: number;
  readonly sysctls: Record<string, string>;
}

/** `docker` with these arguments, from the root of the repository. */
export const docker = (args: readonly string[], timeout = 120_000) =>
  spawnSync('docker', args, { cwd: ROOT, encoding: 'utf8', timeout });

/** Options of `docker run` for a container that is confined and limited as a profile's is by docker-compose.yml. */
export function asProfile(): string[] {
  const { stdout } = docker(['compose', 'config', '--format', 'json']);
  const profile: Service = JSON.parse(stdout).services.neo;
  return [
    ...['--init', '--read-only', '--cap-drop', 'ALL'],
    ...profile.cap_add.flatMap((capability) => ['--cap-add', capability]),
    ...profile.security_opt.flatMap((option) => ['--security-opt', option]),
    ...profile.tmpfs.flatMap((mount) => ['--tmpfs', mount]),
    ...Object.entries(profile.sysctls).flatMap(([name, value]) => ['--sysctl', `${name}=${value}`]),
    ...['--memory', profile.mem_limit, '--pids-limit', String(profile.pids_limit)],
  ];
}

export interface OpenContainer {
  readonly url: string;
  readonly name: string;
  log(): string;
  /** Runs a shell script in the container as the gateway's user; its output. Throws when it fails. */
  inside(script: string): string;
}

/** Whoever starts the gateway has files open, which no command may get (inside.ts). */
const WITH_DESCRIPTORS = 'exec 63</etc/passwd 200>>/state/open; exec "$@"';

/** A profile in a container by itself, whose callers need no token, with this config.yaml beside the model. */
export async function startOpenContainer(
  t: TestContext,
  {
    image,
    config = {},
    workspace,
  }: {
    readonly image: string;
    readonly config?: object;
    /** A volume with a workspace; default: an empty one. */
    readonly workspace?: string;
  },
): Promise<OpenContainer> {
  const dir = tempDir(t);
  chmodSync(dir, 0o755);
  // Without authentication, a profile listens on loopback only: that of this machine.
  const port = 9219 + (await freeOffset());
  const server = { bind_port: port, auth_required: false };
  const fleet = { tier: 'sonnet', server };
  writeFileSync(join(dir, 'fleet.yaml'), stringify({ fleet }));
  writeFileSync(join(dir, 'config.yaml'), stringify({ model: 'offline/runbook', ...config }));
  writeFileSync(join(dir, 'IDENTITY.md'), '---\nname: neo\ndescription: A profile of a test.\n---\n# neo\n');
  const name = `hermes-test-open-${randomBytes(4).toString('hex')}`;
  t.after(() => docker(['rm', '--force', '--volumes', name]));
  const volumes = [
    `${dir}:/etc/hermes/profiles/neo:ro`,
    '/state',
    workspace === undefined ? '/workspace' : `${workspace}:/workspace`,
  ].flatMap((volume) => ['--volume', volume]);
  const { status, stderr } = docker([
    ...['run', '--detach', '--network', 'host', '--name', name, ...asProfile(), ...volumes],
    ...['--env', `HEALTH_PORT=${port}`, image, 'bash', '-c', WITH_DESCRIPTORS, 'bash'],
    ...['node', 'dist/profile.js', '--profile', 'neo'],
  ]);
  if (status !== 0) throw new Error(`the container did not start: ${stderr}`);
  const url = `http://127.0.0.1:${port}`;
  const log = (): string => {
    const { stdout, stderr: errors } = docker(['logs', name]);
    return stdout + errors;
  };
  await until(
    () =>
      fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the open profile to be ready',
  ).catch((cause) => {
    throw new Error(log(), { cause });
  });
  const inside = (script: string): string => {
    const ran = docker(['exec', '--user', '1000:1001', name, 'sh', '-c', script]);
    if (ran.status !== 0) throw new Error(`${script}: ${ran.stderr}`);
    return ran.stdout;
  };
  return { url, name, log, inside };
}
