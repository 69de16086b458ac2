import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { compose, docker, hasEngine } from './docker.ts';
import { forcedMode, keptMode, type Mode } from './mode.ts';

/** The place of files of a fleet: in a folder of processes, or in a volume of containers. */
export interface StatePlace {
  readonly mode: Mode;
  /** For people: the folder, or the volume. */
  readonly text: string;
  /** The folder, or the name of the volume. */
  readonly path: string;
}

const Service = z.object({
  image: z.string(),
  user: z.string().optional(),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  tmpfs: z.union([z.string(), z.array(z.string())]).default([]),
  volumes: z
    .array(
      z.object({
        type: z.string(),
        source: z.string().optional(),
        target: z.string(),
        read_only: z.boolean().optional(),
      }),
    )
    .default([]),
});
const ComposeConfig = z.object({
  name: z.string(),
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.object({ name: z.string() })).default({}),
  networks: z.record(z.string(), z.object({ name: z.string() })).default({}),
});
/** The configuration that Compose makes of its files. */
export type ComposeConfig = z.output<typeof ComposeConfig>;

/** The Compose project of a folder; undefined where Compose does not read one. Makes nothing. */
export async function composeConfig(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
): Promise<ComposeConfig | undefined> {
  const { code, stdout } = await compose(folder, ['config', '--format', 'json'], {
    output: 'text',
    env: { ...env, COMPOSE_PROFILES: '*' },
  });
  return code === 0 ? ComposeConfig.parse(JSON.parse(stdout)) : undefined;
}

/** True if the engine has a volume or a network of this name. */
export const exists = async (
  kind: 'volume' | 'network',
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<boolean> => (await docker([kind, 'inspect', name], { output: 'text', env })).code === 0;

/**
 * Finds a part of the fleet, such as `state/trader`, whose volume is `state-trader`. With both a folder and a volume, FLEET_MODE
 * says which, else what runs. Makes nothing. Throws NOT_FOUND where there is neither, and CONFIG_INVALID where nothing says which.
 */
export async function placeOf(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  part: string,
): Promise<StatePlace> {
  const forced = forcedMode(env);
  const path = join(folder.dir, part);
  const inFolder: StatePlace | undefined = hasFiles(path) ? { mode: 'process', path, text: path } : undefined;
  if (inFolder && (forced ?? keptMode(folder)) === 'process') return inFolder;
  const engine = forced !== 'process' && (await hasEngine(env));
  const name = engine ? await volumeOf(folder, env, part) : undefined;
  const inVolume: StatePlace | undefined =
    name === undefined ? undefined : { mode: 'docker', path: name, text: `the volume ${name}` };
  if (inFolder && inVolume) {
    const wanted = forced ?? keptMode(folder);
    // fleet init makes keys, and no state.
    if (wanted === undefined && !hasFiles(join(folder.dir, 'state'))) return inVolume;
    if (wanted !== undefined) return wanted === 'docker' ? inVolume : inFolder;
    throw new FleetError(
      'CONFIG_INVALID',
      `there is ${part} in ${path} and in ${inVolume.text}: say which with FLEET_MODE=process or FLEET_MODE=docker`,
    );
  }
  const found = forced === 'docker' ? inVolume : (inFolder ?? inVolume);
  if (found) return found;
  const volume = engine ? `a volume of ${folder.root}` : 'a volume, as no Docker engine answers';
  const looked = [...(forced === 'docker' ? [] : [path]), ...(forced === 'process' ? [] : [volume])];
  throw new FleetError('NOT_FOUND', `there is no ${part} in ${looked.join(', nor in ')}`);
}

async function volumeOf(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  part: string,
): Promise<string | undefined> {
  const name = (await composeConfig(folder, env))?.volumes[part.replaceAll('/', '-')]?.name;
  return name !== undefined && (await exists('volume', name, env)) ? name : undefined;
}

function hasFiles(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch (error) {
    // Files of another user are there, and the command says that it cannot read it.
    return systemCode(error) !== 'ENOENT';
  }
}
