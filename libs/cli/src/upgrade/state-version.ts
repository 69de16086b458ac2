import { accessSync, constants, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { keyPaths, OPERATOR } from '../keys/layout.ts';
import { compareVersions } from './compare-versions.ts';

const NAME = 'version';
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;

/**
 * The file with the version that wrote the state of a fleet (docs/operations.md#upgrading): beside the keys, `.fleet/version`. In a
 * container only the volumes can be written: there, it is with the operator's keys.
 */
export function versionFile(keysDir: string): string {
  const keys = resolve(keysDir);
  const fleet = dirname(keys);
  return basename(keys) === 'keys' && isWritable(fleet)
    ? join(fleet, NAME)
    : join(keyPaths(keys).folder(OPERATOR), NAME);
}

/** Also true for a folder that is not there yet. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch (error) {
    return systemCode(error) === 'ENOENT';
  }
}

/** Undefined for a state of 0.2.0 or earlier, and for none. Throws CONFIG_INVALID for a file with anything else than a version. */
export function recordedVersion(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  if (VERSION.test(text)) return text;
  throw new FleetError(
    'CONFIG_INVALID',
    `${file} holds no version: write the one into it that ran last, such as 0.2.0`,
  );
}

/** Throws CONFIG_INVALID for a state that a newer version than `own` wrote. */
export function checkVersion(file: string, own: string): void {
  const recorded = recordedVersion(file);
  if (recorded === undefined || compareVersions(recorded, own) <= 0) return;
  throw new FleetError(
    'CONFIG_INVALID',
    `the fleet in ${dirname(file)} was written by ${newer(recorded, own)}`,
  );
}

/** The rest of a refusal, which names the remedy. */
export const newer = (version: string, own: string): string =>
  `${version}, this is ${own}: install ${version} or a later one, or restore a backup of ${own}`;

/** Records `own` as the version that writes the state, unless it is recorded already. */
export function recordVersion(file: string, own: string): void {
  if (recordedVersion(file) === own) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  writeFileSync(`${file}.tmp`, `${own}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}
