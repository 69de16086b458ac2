import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** A package that a fleet has besides the program. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** As the package names it. */
  readonly license: string;
}

const MANIFEST = 'package.json';
const LOCK = 'package-lock.json';
const MODULES = 'node_modules';
const Root = z.looseObject({ dependencies: z.record(z.string(), z.string()).default({}) });
const Manifest = z.looseObject({ version: z.string(), license: z.string().catch('no license named') });

const read = <T>(schema: z.ZodType<T>, file: string): T =>
  schema.parse(JSON.parse(readFileSync(file, 'utf8')));

/** The packages that were asked for, without those that they need. */
export function readPackages(folder: string): InstalledPackage[] {
  if (!existsSync(join(folder, MANIFEST))) return [];
  return Object.keys(read(Root, join(folder, MANIFEST)).dependencies).map((name) => {
    const { version, license } = read(Manifest, join(folder, MODULES, name, MANIFEST));
    return { name, version, license };
  });
}

const INSTALL_MS = 1_800_000;
const MAX_SAID = 1_000_000;
/** No script of a package runs: a gateway is the first to run its code. */
const INSTALL =
  'install --prefix . --save-exact --ignore-scripts --omit=dev --prefer-offline --no-audit --no-fund --loglevel=error';

/**
 * Installs packages into `folder` by npm, beside those that are there; `specs` are names, each with the release to install or without.
 * They are installed in a folder of its own first, so that a call that fails, or is stopped, changes nothing. Throws CONFIG_INVALID, with
 * what npm said, and the reason of `signal`.
 */
export async function installPackages(
  specs: readonly string[],
  {
    folder,
    env,
    signal,
  }: { readonly folder: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<void> {
  const staging = join(folder, '.new');
  const [modules, old] = [join(folder, MODULES), join(folder, '.old')];
  // Of a call that was killed between the two renames below.
  if (existsSync(old) && !existsSync(modules)) renameSync(old, modules);
  // Every user of the machine may read what is installed, as the commands of a confined executor must.
  const umask = process.umask(0o022);
  try {
    for (const left of [staging, old]) rmSync(left, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    writeFileSync(join(staging, MANIFEST), '{ "private": true }\n');
    for (const file of [MANIFEST, LOCK])
      if (existsSync(join(folder, file))) copyFileSync(join(folder, file), join(staging, file));
    await npm([...INSTALL.split(' '), ...platform(env), ...specs], { cwd: staging, env, signal });
    readPackages(staging);
    if (existsSync(modules)) renameSync(modules, old);
    for (const name of [MODULES, MANIFEST, LOCK]) renameSync(join(staging, name), join(folder, name));
    rmSync(old, { recursive: true, force: true });
  } finally {
    process.umask(umask);
    rmSync(staging, { recursive: true, force: true });
  }
}

/** The image is a Linux with glibc; processes run on this machine. */
const platform = (env: NodeJS.ProcessEnv): string[] =>
  env.FLEET_MODE === 'process' ? [] : ['--os=linux', `--cpu=${process.arch}`, '--libc=glibc'];

async function npm(
  args: readonly string[],
  {
    cwd,
    env,
    signal,
  }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<void> {
  // npm chooses releases for the Node that it runs on: the one of this program.
  const PATH = [dirname(process.execPath), env.PATH ?? ''].join(delimiter);
  const options = { cwd, env: { ...env, PATH }, signal, timeout: INSTALL_MS, maxBuffer: MAX_SAID };
  try {
    // On Windows, npm is a script; no argument has a character that a shell reads.
    await promisify(execFile)('npm', args, { ...options, shell: process.platform === 'win32' });
  } catch (cause) {
    signal.throwIfAborted();
    if (systemCode(cause) === 'ENOENT')
      throw new FleetError('CONFIG_INVALID', 'there is no npm on the PATH: install Node.js with npm', {
        cause,
      });
    const said = z.looseObject({ stderr: z.string() }).safeParse(cause).data?.stderr.trim();
    const why = said || (cause instanceof Error ? cause.message : String(cause));
    throw new FleetError('CONFIG_INVALID', `npm could not install it, and nothing was changed:\n${why}`, {
      cause,
    });
  }
}
