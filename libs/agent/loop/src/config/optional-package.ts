import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve, sep } from 'node:path';
import { packagesFolder } from '@hermes-fleet/installation';
import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { ReadableEnv } from './provider-address.ts';

/** A package that `fleet add` has installed. */
export interface OptionalPackage {
  /** The file that `import` loads. */
  readonly entry: string;
  readonly version: string;
  /** The `node_modules` folder with the package and all that it needs. */
  readonly readable: string;
}

const Manifest = z.looseObject({ version: z.string(), exports: z.unknown().optional() });

/** The variables of 0.2.0 that named a folder of packages. */
const REPLACED = ['MODEL_PACKAGES_DIR', 'CLAUDE_AGENT_SDK_DIR'];

/**
 * Finds an optional package in the folder of the fleet, and nowhere else (docs/cli.md#optional-packages-fleet-add). Throws CONFIG_INVALID, for a key of
 * config.yaml, with the command that installs it.
 */
export async function findPackage(name: string, env: ReadableEnv, key: string): Promise<OptionalPackage> {
  const invalid = (reason: string, cause?: unknown) => FleetError.ofKey(`config.yaml ${key}`, reason, cause);
  const variable = REPLACED.find((each) => env.read(each) !== undefined);
  if (variable !== undefined)
    throw invalid(`${variable} is not read any more: unset it, and install the package by fleet add ${name}`);
  const folder = packagesFolder(resolve(env.read('HERMES_HOME') ?? 'deploy'));
  const place = join(folder, 'node_modules', name);
  try {
    // Before `require`, which would go on looking in the folders above.
    const manifest = Manifest.parse(JSON.parse(await readFile(join(place, 'package.json'), 'utf8')));
    const entry = await realpath(entryOf(name, { folder, place, exports: manifest.exports }));
    const modules = `${sep}node_modules`;
    const readable = entry.slice(0, entry.lastIndexOf(modules + sep) + modules.length);
    return { entry, version: manifest.version, readable };
  } catch (cause) {
    throw invalid(`${name} is not in ${folder}: run fleet add ${name}`, cause);
  }
}

function entryOf(
  name: string,
  { folder, place, exports }: { readonly folder: string; readonly place: string; readonly exports: unknown },
): string {
  try {
    return createRequire(join(folder, 'package.json')).resolve(name);
  } catch (cause) {
    // `require` does not see what a package exports for `import` only.
    const target = importTarget(exports);
    if (target === undefined) throw cause;
    return join(place, target);
  }
}

const IMPORT_CONDITIONS: ReadonlySet<string> = new Set(['.', 'node', 'import', 'default']);

/** https://nodejs.org/api/packages.html#conditional-exports: the first condition that holds decides. */
function importTarget(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (!isJsonObject(exports)) return undefined;
  for (const [condition, target] of Object.entries(exports)) {
    const found = IMPORT_CONDITIONS.has(condition) ? importTarget(target) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
