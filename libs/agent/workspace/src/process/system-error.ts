import { readFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** True for an error of the system with one of these codes (`ENOENT`). */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.some((code) => code === codeOf(error));

/** For `catch`: undefined for what is not there; any other error is thrown on. */
export function unlessAbsent(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error;
}

export const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The text of a file of `/proc` or `/sys`; empty when it is gone, or may not be read. */
export function textNow(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** What a program says in its first line, or else `otherwise`. */
export const firstLine = (text: string, otherwise: string): string =>
  text.trim().split('\n')[0]?.slice(0, 200) || otherwise;

/** Errors of a start for want of processes, memory or file descriptors. */
const CODES: ReadonlySet<unknown> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

/** CAPACITY for an error that says that the machine has no room for another process; else undefined. */
export function capacityOf(error: unknown): FleetError | undefined {
  if (error instanceof FleetError) return error.code === 'CAPACITY' ? error : undefined;
  const code = codeOf(error);
  return CODES.has(code) ? capacityError(String(code), error) : undefined;
}

export const capacityError = (reason: string, cause?: unknown): FleetError =>
  new FleetError('CAPACITY', `a process cannot be started now (${reason})`, { cause });

/** Matches the only line that a confining program prints when it has no room to start the command. */
const CONFINER =
  /^(bwrap|setpriv|prlimit): [^\n]*(Resource temporarily unavailable|Cannot allocate memory|Too many open files[^\n]*)\n?$/;

/** True when the confining program failed for want of room, so that the command itself never ran. */
export const isStartFailure = (end: { readonly exitCode: number | null; readonly stderr: string }): boolean =>
  end.exitCode !== 0 && CONFINER.test(end.stderr);
