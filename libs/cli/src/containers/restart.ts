import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { CONSOLE } from '../keys/layout.ts';
import { configurationFiles, digestOfFiles } from '../local/fingerprint.ts';
import { graceOf } from '../local/grace.ts';
import { planFleet } from '../local/plan.ts';
import { restartOrder } from '../local/restart.ts';
import { compose, type DockerResult, docker } from './docker.ts';
import { listContainers } from './list-containers.ts';

const WAIT_S = 600;
const LABEL = 'com.docker.compose';

/** The digests of the configuration with which services have started, each with the start of its container. */
const Record = z.record(z.string(), z.object({ startedAt: z.string(), digest: z.string() }).readonly());
type Record = z.output<typeof Record>;

const Inspected = z.array(
  z
    .object({
      State: z.object({ StartedAt: z.string() }),
      Config: z.object({ Labels: z.record(z.string(), z.string()), Env: z.array(z.string()) }),
    })
    .transform(({ State: { StartedAt: startedAt }, Config: { Labels, Env } }) => ({
      service: Labels[`${LABEL}.service`] ?? '',
      startedAt,
      image: Labels[`${LABEL}.image`],
      settings: Labels[`${LABEL}.config-hash`],
      env: Object.fromEntries(Env.map((line) => line.split(/=(.*)/s, 2))),
    })),
);

/** A service that runs, as it was started. */
type Running = z.output<typeof Inspected>[number];

const Settings = z.object({ services: z.record(z.string(), z.object({ image: z.string().optional() })) });

/** A running service, and what differs since its start. */
export type ChangedContainer = Running & { readonly change: string };

interface In {
  readonly folder: FleetFolder;
  readonly env: NodeJS.ProcessEnv;
}

interface RestartIn extends In {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly signal: AbortSignal;
}

/**
 * The services of the fleet that run and that `up` restarts (docs/operations.md#changes-of-a-running-fleet), in this order: their
 * image, settings or files of configuration have changed. Throws CONFIG_INVALID where Compose cannot read its file.
 */
export async function changedContainers(fleet: In): Promise<readonly ChangedContainer[]> {
  const running = await runningMembers(fleet);
  if (running.length === 0) return [];
  const text = async (...args: string[]): Promise<string> =>
    outputOf(await compose(fleet.folder, args, { output: 'text', env: fleet.env }), args);
  const { services } = Settings.parse(parseJson(await text('config', '--format', 'json')));
  const hashes = new Map(
    (await text('config', '--hash', '*')).split('\n').map((line): [string, string] => {
      const [service = '', hash = ''] = line.split(' ');
      return [service, hash];
    }),
  );
  const images = new Map<string, string>();
  for (const image of new Set(running.map(({ service }) => services[service]?.image ?? ''))) {
    const args = ['image', 'inspect', '--format', '{{.Id}}', image];
    images.set(image, (await docker(args, { output: 'text', env: fleet.env })).stdout.trim());
  }
  const kept = readRecord(fleet.folder);
  return running.flatMap((each) => {
    const { service, image, settings } = each;
    const files = configurationFiles(fleet.folder.home, service);
    const isOther = image !== images.get(services[service]?.image ?? '');
    const parts = [
      // The settings have the name of the image, which has the version in a fleet folder.
      ...(isOther ? ['the image'] : settings === hashes.get(service) ? [] : ['its settings']),
      ...(digestAtStart(each, files, kept) === digestOfFiles(files) ? [] : ['its configuration']),
    ];
    return parts.length === 0 ? [] : [{ ...each, change: `${parts.join(' and ')} changed` }];
  });
}

/** The members and the console that run. */
async function runningMembers({ folder, env }: In): Promise<readonly Running[]> {
  const { members, console } = planFleet({ root: folder.root });
  const names = [...members, console].map(({ name }) => name);
  const ids = (await listContainers(folder, env))
    .filter(({ service, state }) => state === 'running' && names.includes(service))
    .map(({ id }) => id);
  if (ids.length === 0) return [];
  const args = ['inspect', ...ids];
  const found = Inspected.parse(parseJson(outputOf(await docker(args, { output: 'text', env }), args)));
  return found.toSorted((a, b) => restartOrder(a.service, b.service));
}

function outputOf({ code, stdout, stderr }: DockerResult, args: readonly string[]): string {
  if (code === 0) return stdout;
  throw new FleetError('CONFIG_INVALID', `docker ${args.join(' ')} fails: ${stderr.trim()}`);
}

/**
 * Undefined where a file has changed since. Of a container that no `up` has started, such as one that Docker has restarted, the
 * times of the files say that.
 */
function digestAtStart(
  { service, startedAt }: Running,
  files: readonly string[],
  kept: Record,
): string | undefined {
  const known = kept[service];
  if (known?.startedAt === startedAt) return known.digest;
  const start = Date.parse(startedAt);
  return files.some((file) => statSync(file).ctimeMs > start) ? undefined : digestOfFiles(files);
}

const fileOf = ({ dir }: FleetFolder): string => join(dir, 'containers.json');

function readRecord(folder: FleetFolder): Record {
  const file = fileOf(folder);
  return existsSync(file) ? Record.parse(parseJson(readFileSync(file, 'utf8'))) : {};
}

/** Records the configuration with which the services that run have started, for the next `up`. */
export async function recordContainers(fleet: In): Promise<void> {
  const kept = readRecord(fleet.folder);
  const entries = (await runningMembers(fleet)).flatMap((each) => {
    const { service, startedAt } = each;
    const digest = digestAtStart(each, configurationFiles(fleet.folder.home, service), kept);
    return digest === undefined ? [] : [[service, { startedAt, digest }] as const];
  });
  const file = fileOf(fleet.folder);
  writeFileSync(`${file}.tmp`, `${JSON.stringify(Object.fromEntries(entries))}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/**
 * The words with which Compose restarts a service that has changed, and waits. It may take the time to stop that its fleet.yaml
 * says. Without `--no-deps`: Compose 2.26 takes a container that was made with it for changed.
 */
export const recreate = (graceMs: number, service: string): string[] => [
  ...['up', '--detach', '--wait', '--wait-timeout', String(WAIT_S), '--force-recreate'],
  ...['--timeout', String(Math.ceil(graceMs / 1_000)), service],
];

/**
 * Restarts services one at a time, as those of processes: SIGTERM, the drain of its `shutdown.drain_s`, a start, and healthy
 * before the next one. After one that fails, the others run on as they are; so does a service whose fleet.yaml is invalid. Leaves
 * the console to its caller. False after a failure, which stderr names.
 */
export async function restartContainers(
  { folder, env, stdout, stderr, signal }: RestartIn,
  changed: readonly ChangedContainer[],
): Promise<boolean> {
  let failed: string | undefined;
  for (const { service, change, env: own } of changed.filter((each) => each.service !== CONSOLE)) {
    if (failed !== undefined) {
      stderr.write(`${service} was not restarted, because ${failed} failed, although ${change}\n`);
      continue;
    }
    try {
      const graceMs = graceOf(folder, service, own);
      stdout.write(`${service} is restarted: ${change}\n`);
      const { code } = await compose(folder, recreate(graceMs, service), { output: 'inherit', env, signal });
      if (code !== 0) failed = service;
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      stderr.write(`${service} runs on as it was started, although ${change}: ${error.message}\n`);
      failed = service;
    }
  }
  return failed === undefined;
}
