import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';

/** Who reads a secret: the file and its folder belong to this user. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** What became of a file. */
export type Change = 'created' | 'repaired' | 'kept';

const FILE_MODE = 0o400;
const FOLDER_MODE = 0o700;

/** Makes a folder that only its owner can enter; corrects mode and owner of one that is there. */
export function secretFolder(path: string, owner: Owner | undefined): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
  own(path, FOLDER_MODE, owner);
}

/** The content of a secret file without the white space around it, or undefined where there is no file. */
export function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} cannot be read: run this as the user that it belongs to`,
      {
        cause: error,
      },
    );
  }
}

/**
 * The secret that a file holds, made first where there is none. Of two that do this at once, both get the same one.
 * A value that `accepts` refuses is replaced.
 */
export function keepSecret(
  file: string,
  make: () => string,
  owner: Owner | undefined,
  accepts: (value: string) => boolean,
): { readonly value: string; readonly change: Change } {
  const there = readSecret(file);
  if (there !== undefined && !accepts(there)) {
    const value = make();
    replace(file, value, owner);
    return { value, change: 'repaired' };
  }
  if (there !== undefined) {
    return { value: there, change: own(file, FILE_MODE, owner) ? 'repaired' : 'kept' };
  }
  const temporary = write(file, make(), owner);
  try {
    linkSync(temporary, file);
    return { value: readFileSync(file, 'utf8').trim(), change: 'created' };
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return { value: readFileSync(file, 'utf8').trim(), change: 'kept' };
  } finally {
    rmSync(temporary);
  }
}

/** Makes a file hold exactly this. */
export function putSecret(file: string, value: string, owner: Owner | undefined): Change {
  const there = readSecret(file);
  if (there === value.trim()) return own(file, FILE_MODE, owner) ? 'repaired' : 'kept';
  replace(file, value, owner);
  return there === undefined ? 'created' : 'repaired';
}

function replace(file: string, value: string, owner: Owner | undefined): void {
  renameSync(write(file, value, owner), file);
}

/** Writes a file beside the one that is meant, safe on disk, so that no reader ever sees half of a secret. */
function write(file: string, value: string, owner: Owner | undefined): string {
  const temporary = join(dirname(file), `.${randomBytes(8).toString('hex')}.tmp`);
  const handle = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(handle, value);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  own(temporary, FILE_MODE, owner);
  return temporary;
}

/** Sets mode and owner where they differ; true when something was changed. */
function own(path: string, mode: number, owner: Owner | undefined): boolean {
  const stat = statSync(path);
  const wrongMode = (stat.mode & 0o7777) !== mode;
  const wrongOwner = owner !== undefined && (stat.uid !== owner.uid || stat.gid !== owner.gid);
  if (wrongMode) chmodSync(path, mode);
  if (wrongOwner) chownSync(path, owner.uid, owner.gid);
  return wrongMode || wrongOwner;
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
