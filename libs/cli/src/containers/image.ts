import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { checkout, folder as programFolder, revision } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { FOLDER_IMAGE } from '../folder/compose.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { compose, docker } from './docker.ts';
import { revisionOf } from './revision.ts';

const BUILD_MS = 3_600_000;
const LABEL = 'hermes-fleet.revision';

export interface ImageIn {
  readonly env: NodeJS.ProcessEnv;
  readonly stderr: Writable;
}

/** Builds the image of a fleet where it is missing. Throws CONFIG_INVALID. */
export async function ensureImage(folder: FleetFolder, { env, stderr }: ImageIn): Promise<void> {
  if (folder.root === folder.home) return await buildForFolder(folder, { env, stderr });
  const { stdout, code } = await compose(folder, ['config', '--images', 'keys'], { output: 'text', env });
  const image = stdout.trim().split('\n')[0] ?? '';
  if (code === 0 && (await docker(['image', 'inspect', image], { output: 'text', env })).code === 0) return;
  const args = ['build', '--quiet', 'keys'];
  const built = await compose(folder, args, { output: 'text', env, timeoutMs: BUILD_MS });
  if (built.code !== 0)
    throw new FleetError('CONFIG_INVALID', `the image cannot be built: ${built.stderr.trim()}`);
}

/**
 * Builds the image of a fleet folder from this program, unless it is there and of the same revision (docs/install.md#in-containers). One
 * that FLEET_IMAGE names is built by somebody else, and pulled by Compose. Throws CONFIG_INVALID.
 */
export async function buildForFolder(folder: FleetFolder, { env, stderr }: ImageIn): Promise<void> {
  if (env.FLEET_IMAGE) return;
  const sources = checkout();
  const wanted = sources === undefined ? (revision() ?? '') : revisionOf({ root: sources });
  const args = ['image', 'inspect', '--format', `{{index .Config.Labels "${LABEL}"}}`, FOLDER_IMAGE];
  const { code, stdout } = await docker(args, { output: 'text', env });
  if (code === 0 && stdout.trim() === wanted && isOneState(wanted)) return;
  stderr.write(`building the image ${FOLDER_IMAGE} from ${programFolder()}\n`);
  const build = [
    ...['build', '--file', join(programFolder(), 'deploy/docker/Dockerfile')],
    ...['--tag', FOLDER_IMAGE, '--label', `${LABEL}=${wanted}`],
    ...(env.NODE_IMAGE ? ['--build-arg', `BASE_IMAGE=${env.NODE_IMAGE}`] : []),
    ...['--build-arg', sources === undefined ? 'PACKAGE=from-package' : `FLEET_REVISION=${wanted}`],
    programFolder(),
  ];
  const built = await docker(build, { output: 'inherit', env: { ...env, ...builderEnv(folder, env) } });
  if (built.code === 0) return;
  throw new FleetError(
    'CONFIG_INVALID',
    `the image ${FOLDER_IMAGE} cannot be built, for the reason above: FLEET_IMAGE in .env.local names another one`,
  );
}

/** False for sources without git, and with changes that are in no commit. */
const isOneState = (revision: string): boolean => revision !== '' && !revision.endsWith('-changed');

/** The builder of old would also build the stages that are not needed, and BuildKit writes into the home of the user, where it can. */
function builderEnv({ dir }: FleetFolder, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const usual =
    env.BUILDX_CONFIG || join(env.DOCKER_CONFIG || join(env.HOME || homedir(), '.docker'), 'buildx');
  return { DOCKER_BUILDKIT: '1', BUILDX_CONFIG: isWritable(usual) ? usual : join(dir, 'cache/buildx') };
}

/** Makes the folder, and its parent, where they are missing. */
function isWritable(path: string): boolean {
  try {
    // Not recursively: in /proc, Node.js would try forever.
    for (const each of [dirname(path), path]) if (!existsSync(each)) mkdirSync(each);
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
