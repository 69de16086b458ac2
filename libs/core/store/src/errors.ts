import { FleetError } from '@hermes-fleet/protocol';

/** Primary result codes of SQLite. */
export const SQLITE = {
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  constraint: 19,
  notADatabase: 26,
} as const;

/** All but those of a statement. */
const STORE_FAILURES: ReadonlySet<number> = new Set(
  Object.values(SQLITE).filter((code) => code !== SQLITE.constraint),
);

/** The primary result code of a `node:sqlite` error; undefined for any other value. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  return error.errcode & 0xff;
}

/** True if a page of the file is damaged: unlike a full disk, that does not pass. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  return code === SQLITE.corrupt || code === SQLITE.notADatabase;
}

/** The error of a damaged store: not retryable, and it says what to do. */
export function damageError(name: string, cause: unknown): FleetError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `the ${name} is damaged (${reason}): stop the service and restore the file from a backup`;
  return new FleetError('STORE_UNAVAILABLE', message, { cause, retryable: false });
}

/** True if the store failed (disk, lock, file), false if the statement did. */
export function isStoreFailure(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && STORE_FAILURES.has(code);
}
