import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { ownCommand } from '../command-line/own-command.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { type DockerOptions, docker } from './docker.ts';
import { atEndOnHost, hostRequests } from './host-requests.ts';
import { ensureImage } from './image.ts';
import { runJob } from './inside.ts';
import { type Container, listContainers } from './list-containers.ts';

export interface ContainersBackup {
  readonly folder: FleetFolder;
  readonly env: NodeJS.ProcessEnv;
  readonly stderr: Writable;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** They write nothing that is backed up. */
const WITHOUT_STATE: ReadonlySet<string> = new Set(['prometheus', 'grafana', 'welcome']);

/**
 * Backs up a fleet in containers, or only one member, to a file that only its owner can read
 * (docs/operations.md#backup-and-restore). Its containers are paused meanwhile. Returns for how long, in ms, and the size of the
 * file. Throws CONFIG_INVALID for a file that exists, CAPACITY where another backup runs or a container was continued meanwhile.
 */
export async function backUpContainers(
  { folder, env, stderr, clock }: ContainersBackup,
  file: string,
  member?: string,
): Promise<{ readonly bytes: number; readonly pausedMs: number }> {
  const partial = `${file}.partial`;
  const found = [file, partial].find((name) => existsSync(name));
  if (found !== undefined)
    throw new FleetError('CONFIG_INVALID', `${found} exists: name another file, or remove it`);
  await ensureImage(folder, { env, stderr });
  const containers = await listContainers(folder, env);
  if (containers.some(({ state }) => state === 'paused'))
    throw new FleetError(
      'CAPACITY',
      'containers are paused, as during a backup: wait for it, or docker compose unpause',
    );
  const running = containers.filter(
    ({ service, state }) =>
      state === 'running' && !WITHOUT_STATE.has(service) && (member === undefined || service === member),
  );
  const ids = running.map(({ id }) => id);
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    const begunAt = clock.monotonic();
    await (async () => {
      await using _pause = ids.length > 0 ? await pauseContainers(ids, env) : undefined;
      const args = ['backup', '-', '--dir', '/fleet', ...(member === undefined ? [] : ['--member', member])];
      await job({ folder, env }, args, { output: { file: partial } });
      const now = await listContainers(folder, env);
      if (!ids.every((id) => isPaused(now, id)))
        throw new FleetError('CAPACITY', 'a container was continued during the backup: try again');
    })();
    renameSync(partial, file);
    const pausedMs = ids.length > 0 ? clock.monotonic() - begunAt : 0;
    return { bytes: statSync(file).size, pausedMs };
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

const isPaused = (containers: readonly Container[], id: string): boolean =>
  containers.some((each) => each.id === id && each.state === 'paused');

const Refused = z.object({ error: z.object({ message: z.string() }) });
const Restored = z.object({ parts: z.array(z.string()), created_at: z.string() });
const ENDED: ReadonlySet<string> = new Set(['created', 'exited', 'dead']);

/**
 * Restores a backup into the volumes of a fleet that is down (docs/operations.md#backup-and-restore). Returns which
 * parts of the fleet it had, and of when. Throws CONFIG_INVALID for a file that is not there, for a fleet that runs, and where the
 * volumes hold what the backup does.
 */
export async function restoreContainers(
  { folder, env, stderr }: Omit<ContainersBackup, 'clock'>,
  file: string,
): Promise<z.output<typeof Restored>> {
  if (!existsSync(file)) throw new FleetError('CONFIG_INVALID', `there is no file ${file}`);
  await ensureImage(folder, { env, stderr });
  if ((await listContainers(folder, env)).some(({ state }) => !ENDED.has(state)))
    throw new FleetError('CONFIG_INVALID', `the fleet runs: stop it first (${ownCommand('down')})`);
  const mounted = ['--volume', `${file}:/backup.tar.zst:ro`];
  const words = ['restore', '/backup.tar.zst', '--dir', '/fleet', '--json'];
  return Restored.parse(parseJson(await job({ folder, env }, words, { output: 'text' }, mounted)));
}

/** The file is as large as the fleet's state, so a backup has no deadline but this one. */
const JOB_MS = 24 * 3_600_000;

/** Runs a command as the service `backup`, which has all volumes. Throws CONFIG_INVALID with what it says where it fails. */
async function job(
  { folder, env }: Pick<ContainersBackup, 'folder' | 'env'>,
  words: readonly string[],
  options: Pick<DockerOptions, 'output'>,
  more: readonly string[] = [],
): Promise<string> {
  const call = { ...options, env, timeoutMs: JOB_MS };
  const { code, stdout, stderr } = await runJob(folder, env, [...more, 'backup', ...words], call);
  if (code === 0) return stdout;
  // With --json, the error is a document on stdout.
  const told = /^\{"error":/.test(stdout) ? Refused.parse(parseJson(stdout)).error.message : undefined;
  const [said = stderr.trim()] = stderr.match(/(?<=^fleet: ).*/m) ?? [];
  throw new FleetError('CONFIG_INVALID', told ?? said);
}

/** Each container by itself: one that was not stopped yet must not keep the others from continuing. */
const UNPAUSE = 'for container; do docker unpause "$container" >/dev/null 2>&1 || true; done';
/** For a command that was killed, the engine may still be stopping one. */
const UNPAUSE_AFTER_DEATH = `${UNPAUSE}; sleep 2; ${UNPAUSE}`;

/** Pauses containers, which continue with the disposal, and also if this process dies, however it does. */
async function pauseContainers(ids: readonly string[], env: NodeJS.ProcessEnv): Promise<AsyncDisposable> {
  await using guards = new AsyncDisposableStack();
  guards.use(await guard(ids, env));
  guards.defer(async () => {
    const { stderr } = await docker(['unpause', ...ids], { output: 'text', env });
    const failed = stderr.split('\n').filter((line) => line !== '' && !line.includes('is not paused'));
    if (failed.length > 0)
      throw new FleetError('CAPACITY', `not all containers continue: ${failed.join('; ')}`);
  });
  const { code, stderr } = await docker(['pause', ...ids], { output: 'text', env });
  if (code !== 0) throw new FleetError('CAPACITY', `the containers cannot be paused: ${stderr.trim()}`);
  return guards.move();
}

/** Continues containers after the death of this process; the disposal ends it. */
async function guard(ids: readonly string[], env: NodeJS.ProcessEnv): Promise<AsyncDisposable | Disposable> {
  const requests = hostRequests();
  if (requests) return atEndOnHost(requests, '/', ['sh', '-c', UNPAUSE_AFTER_DEATH, 'sh', ...ids]);
  // A line says that the containers continue already.
  const script = `trap "" INT TERM HUP; read -r line || { ${UNPAUSE_AFTER_DEATH}; }`;
  const child = spawn('sh', ['-c', script, 'sh', ...ids], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  await once(child, 'spawn');
  return {
    async [Symbol.asyncDispose]() {
      child.stdin.end('continued\n');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
