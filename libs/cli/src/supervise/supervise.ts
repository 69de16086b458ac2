import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { lockFolder, SUPERVISOR_RESTART } from '../local/folder-lock.ts';
import { hasDied } from '../local/pid-file.ts';
import type { ProcessCommand, Started } from '../local/start-process.ts';
import { type RestartRecord, writeRestarts } from './restarts.ts';

/** A process that is started again when it dies. */
export interface Supervised {
  readonly name: string;
  readonly logFile: string;
  readonly command: ProcessCommand;
}

export interface Supervision {
  /** The folder of the fleet. */
  readonly dir: string;
  readonly runDir: string;
  readonly processes: readonly Supervised[];
  readonly clock: Clock;
  /** Ends the supervision, and no process. */
  readonly signal: AbortSignal;
  /** False when another supervisor has taken over, or the folder is gone. */
  readonly isInCharge: () => boolean;
  /** False where the program differs from the one that `up` started. */
  readonly isCurrent: (process: Supervised) => boolean;
  readonly start: (process: Supervised) => Started;
  readonly say: (line: string) => void;
}

const LOOK_EVERY_MS = 1_000;
const FIRST_DELAY_MS = 1_000;
const MAX_RESTARTS = 5;
const WINDOW_MS = 600_000;

/**
 * Starts a process again that has died, after a delay that doubles, at most 5 times in 10 minutes; then, or if its program has
 * changed, it stays down, and its record says so (docs/operations.md#supervisor). A process that a command stops has no pid file, and is left alone; so is
 * everything while a command holds the lock of the folder. Resolves when it is no longer in charge.
 */
export async function supervise(options: Supervision): Promise<void> {
  const { runDir, processes, clock, signal, isInCharge, say } = options;
  const watched = processes.map((process) => watch(process, options));
  const publish = (): true => {
    writeRestarts(runDir, Object.fromEntries(watched.flatMap(({ name, entry }) => entryOf(name, entry()))));
    return true;
  };
  publish();
  let isPublished = true;
  let before: ReadonlySet<string> = new Set();
  /** False once it is not in charge. A full disk, or a damaged file, ends neither the supervision nor the look at the others. */
  const pass = (): boolean => {
    const problems = new Set<string>();
    const attempt = <T>(work: () => T, otherwise: T): T => {
      try {
        return work();
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!before.has(message)) say(`the next look tries again what has failed: ${message}`);
        problems.add(message);
        return otherwise;
      }
    };
    if (!attempt(isInCharge, true)) return false;
    for (const { look } of watched) if (!signal.aborted && attempt(look, false)) isPublished = false;
    if (!isPublished) isPublished = attempt<boolean>(publish, false);
    before = problems;
    return true;
  };
  while (!signal.aborted && pass()) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
}

type Entry = RestartRecord[string];
const entryOf = (name: string, entry: Entry | undefined): [string, Entry][] => (entry ? [[name, entry]] : []);

function watch(process: Supervised, { dir, runDir, clock, isCurrent, start, say }: Supervision) {
  const { name } = process;
  /** By the monotonic clock. */
  let restarts: number[] = [];
  let dueAt: number | undefined;
  let entry: Entry | undefined;
  /** False if a command of the fleet holds the lock, which decides about its processes itself, or has just started this one. */
  const startLocked = (): boolean => {
    try {
      using _lock = lockFolder(dir, SUPERVISOR_RESTART);
      if (!hasDied(runDir, name)) return false;
      start(process).release();
      return true;
    } catch (error) {
      if (error instanceof FleetError && error.code === 'CAPACITY') return false;
      throw error;
    }
  };
  const again = (): boolean => {
    if (!startLocked()) return false;
    dueAt = undefined;
    restarts.push(clock.monotonic());
    entry = { count: (entry?.count ?? 0) + 1, lastAt: clock.now() };
    say(`${name} was started again, restart ${restarts.length} of ${MAX_RESTARTS} in 10 minutes`);
    return true;
  };
  const leave = (reason: 'deaths' | 'program'): boolean => {
    const now = clock.now();
    entry = { count: entry?.count ?? 0, lastAt: entry?.lastAt ?? now, failedAt: now, reason };
    say(
      reason === 'deaths'
        ? `${name} has died again, and stays down: ${process.logFile} says why`
        : `${name} stays down, because the program has changed since up: run fleet up`,
    );
    return true;
  };
  /** True if the record has changed. */
  const look = (): boolean => {
    if (entry?.failedAt !== undefined) return false;
    if (!hasDied(runDir, name)) {
      dueAt = undefined;
      return false;
    }
    const now = clock.monotonic();
    if (dueAt !== undefined && now < dueAt) return false;
    if (dueAt !== undefined) return isCurrent(process) ? again() : leave('program');
    restarts = restarts.filter((at) => now - at < WINDOW_MS);
    if (restarts.length < MAX_RESTARTS) {
      dueAt = now + FIRST_DELAY_MS * 2 ** restarts.length;
      say(`${name} has died, and starts again in ${(dueAt - now) / 1000} s`);
      return false;
    }
    return leave('deaths');
  };
  return { name, entry: () => entry, look };
}
