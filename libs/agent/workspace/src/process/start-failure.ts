import { FleetError } from '@hermes-fleet/protocol';

/** Errors of a start for want of processes, memory or file descriptors. */
const CODES: ReadonlySet<unknown> = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

/** CAPACITY for an error that says that the machine has no room for another process; else undefined. */
export function capacityOf(error: unknown): FleetError | undefined {
  if (error instanceof FleetError) return error.code === 'CAPACITY' ? error : undefined;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
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
