import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { processIdentity } from './pid-file.ts';

const LOCK = 'fleet.lock';
const HOLDER = 'fleet.lock.json';

/** The files of a lock, which are in its folder while a command holds it, and after one that was killed. */
export const LOCK_FILES: ReadonlySet<string> = new Set([LOCK, HOLDER]);

const Holder = z.object({ command: z.string(), pid: z.int(), identity: z.string(), since: z.string() });
type Holder = z.output<typeof Holder>;

/** The name under which the supervisor holds the lock, for the moment in which it starts a process. */
export const SUPERVISOR_RESTART = 'the supervisor';
const RESTART_MS = 10_000;

/**
 * Lets one command at a time change the processes and files of a fleet, or of a worker, in `dir`: of two that start the same
 * member, one would be named by no pid file. Creates the folder; the disposal leaves nothing of the lock. A process that dies,
 * however, frees it. Waits for a restart by the supervisor, and for no command: throws CAPACITY, which names the command that
 * holds it, and CONFIG_INVALID for a folder that this user cannot write to. A folder of a read-only file system, as in an
 * image, is not locked: nothing can be started there.
 */
export function lockFolder(dir: string, command: string): Disposable {
  const folder = resolve(dir);
  const [file, holderFile] = [join(folder, LOCK), join(folder, HOLDER)];
  try {
    let made: string | undefined;
    const began = Date.now();
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt >= MAX_ATTEMPTS;
      made = makeFolder(folder, isLast) ?? made;
      const lock = lockInPlace(file, isLast);
      if (lock === 'gone' && !isLast) continue;
      if (lock === 'held') {
        const holder = holderIn(holderFile);
        if (Date.now() - began >= patienceFor(holder)) throw isHeld(folder, holder);
        pause();
        attempt = 0;
        continue;
      }
      if (lock === 'gone') throw isHeld(folder, undefined);
      const { pid } = process;
      const top = made;
      const since = new Date().toISOString();
      const holder = JSON.stringify({ command, pid, identity: processIdentity(pid), since });
      writeFileSync(holderFile, holder, { mode: 0o600 });
      return {
        [Symbol.dispose]: () => {
          rmSync(holderFile, { force: true });
          rmSync(file, { force: true });
          lock[Symbol.dispose]();
          if (top !== undefined) removeEmpty(folder, top);
        },
      };
    }
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EROFS') return { [Symbol.dispose]: () => undefined };
    if (error instanceof FleetError || code === undefined) throw error;
    const reason = error instanceof Error ? error.message : code;
    throw new FleetError('CONFIG_INVALID', `${command} cannot lock ${file}: ${reason}`, {
      cause: error,
    });
  }
}

/** The attempts at a file, or a folder, that others make and remove meanwhile. */
const MAX_ATTEMPTS = 100;

/** The first folder that was made; undefined for none. */
function makeFolder(folder: string, isLast: boolean): string | undefined {
  try {
    return mkdirSync(folder, { recursive: true, mode: 0o711 });
  } catch (error) {
    if (isLast || systemCode(error) !== 'ENOENT') throw error;
    return undefined;
  }
}

/** `gone`: the holder has removed the file meanwhile, and another command may have made a new one. */
function lockInPlace(file: string, isLast: boolean): Disposable | 'held' | 'gone' {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'gone';
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  const before = identityOf(file);
  const isInPlace = (): boolean => before !== undefined && identityOf(file) === before;
  if (!isInPlace()) return 'gone';
  let db: DatabaseSync | undefined;
  try {
    // A lock of SQLite is one of the system: it ends with its process. Nothing is written, so no journal is needed.
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
  } catch (error) {
    db?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return 'held';
    if (!isLast) return 'gone';
    throw error;
  }
  if (isInPlace()) return db;
  db.close();
  return 'gone';
}

const SQLITE_BUSY = 5;

function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}

/** A command that has just begun names itself within this time, in milliseconds. */
const NAMED_MS = 1000;

/** A command without a name begins or ends at this moment. */
const patienceFor = (holder: Holder | undefined): number => {
  if (holder === undefined) return NAMED_MS;
  return holder.command === SUPERVISOR_RESTART ? RESTART_MS : 0;
};

const pause = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);

function isHeld(folder: string, holder: Holder | undefined): FleetError {
  const who = holder ? `${holder.command} (process ${holder.pid}, since ${holder.since})` : 'another command';
  const end = holder ? `end it (kill ${holder.pid})` : 'end it';
  return new FleetError(
    'CAPACITY',
    `${who} is at work on ${folder}: wait until it has ended, or ${end}, then try again`,
  );
}

/** Undefined at the moment in which the holder begins or ends. */
function holderIn(file: string): Holder | undefined {
  try {
    const { data } = Holder.safeParse(JSON.parse(readFileSync(file, 'utf8')));
    return data && processIdentity(data.pid) === data.identity ? data : undefined;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Removes `folder` and those above it, up to `top`, as far as nobody has put something there. */
function removeEmpty(folder: string, top: string): void {
  try {
    for (let at = folder; ; at = dirname(at)) {
      rmdirSync(at);
      if (at === top) return;
    }
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(systemCode(error) ?? '')) throw error;
  }
}
