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
import { FleetError, systemCode } from '@hermes-fleet/protocol';

/** The user who owns a secret's file and folder. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export type Change = 'created' | 'repaired' | 'kept';

const FILE_MODE = 0o400;
const FOLDER_MODE = 0o700;

/** Creates a folder with mode 0700, or corrects the mode and owner of an existing one. */
export function secretFolder(path: string, owner?: Owner): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
  own(path, FOLDER_MODE, owner);
}

/** The trimmed content of a secret file; undefined when it does not exist. Throws CONFIG_INVALID. */
export function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new FleetError(
      'CONFIG_INVALID',
      `${file} cannot be read: run this as the user that it belongs to`,
      { cause: error },
    );
  }
}

/** Services refuse shorter tokens, in characters. */
const MIN_LENGTH = 16;
/** Joining refuses shorter ones of a worker. */
export const WORKER_MIN_LENGTH = 32;

const newToken = (): string => randomBytes(32).toString('base64url');
const isUsable = (value: string, minLength: number): boolean =>
  value.length >= minLength && !/\s/.test(value);

/**
 * Reads a token, or creates it when the file does not exist; concurrent callers get the same value. Replaces one that services would
 * refuse, or with `renew` any.
 */
export function keepSecret(
  file: string,
  owner?: Owner,
  { renew = false, minLength = MIN_LENGTH }: { readonly renew?: boolean; readonly minLength?: number } = {},
): { readonly value: string; readonly change: Change } {
  const existing = readSecret(file);
  if (existing !== undefined && (renew || !isUsable(existing, minLength))) {
    const value = newToken();
    replace(file, value, owner);
    return { value, change: 'repaired' };
  }
  if (existing !== undefined) {
    return { value: existing, change: own(file, FILE_MODE, owner) ? 'repaired' : 'kept' };
  }
  const temporary = write(file, newToken(), owner);
  try {
    linkSync(temporary, file);
    return { value: readFileSync(file, 'utf8').trim(), change: 'created' };
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    return { value: readFileSync(file, 'utf8').trim(), change: 'kept' };
  } finally {
    rmSync(temporary);
  }
}

/** Writes a file unless it already holds this value. */
export function putSecret(file: string, value: string, owner?: Owner): Change {
  const existing = readSecret(file);
  if (existing === value.trim()) return own(file, FILE_MODE, owner) ? 'repaired' : 'kept';
  replace(file, value, owner);
  return existing === undefined ? 'created' : 'repaired';
}

function replace(file: string, value: string, owner: Owner | undefined): void {
  renameSync(write(file, value, owner), file);
}

/** Writes and fsyncs a temporary file in the same folder, so that a reader never sees part of a secret. */
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

/** Sets mode and owner where they differ. Returns true when something changed. */
function own(path: string, mode: number, owner: Owner | undefined): boolean {
  const stat = statSync(path);
  const wrongMode = (stat.mode & 0o7777) !== mode;
  const wrongOwner = owner !== undefined && (stat.uid !== owner.uid || stat.gid !== owner.gid);
  if (wrongMode) chmodSync(path, mode);
  if (wrongOwner) chownSync(path, owner.uid, owner.gid);
  return wrongMode || wrongOwner;
}
