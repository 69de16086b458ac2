import { statfsSync } from 'node:fs';
import { FleetError } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type CommandLine, type CommandMonitor, runCommand } from '../process/run-command.ts';

export interface DiskSpaceOptions {
  /** A folder on the file system whose free space counts. */
  readonly root: string;
  /** Below this nothing new begins and running work ends, in MiB; 0: off. */
  readonly minFreeMb: number;
  /** Maximum size of the folder of a context, in MiB; 0: no limit. */
  readonly limitMb: number;
  readonly clock: Clock;
  readonly log: Log;
}

export type DiskSpace = ReturnType<typeof createDiskSpace>;

type Wrap = (command: string, args: readonly string[]) => CommandLine;

const MIB = 1024 * 1024;
const FREE_EVERY_MS = 2000;
const USE_EVERY_MS = 1000;
/** The part of the time that measuring a folder may take, as a divisor. */
const SHARE = 20;
const DU_MS = 10_000;
/** A measurement holds so long while the disk did not lose the space that is left to the limit. */
const HOLDS_MS = 10_000;
/** A command may write so much into a folder above its limit, e.g. to find out what to remove. */
const TOLERANCE_MB = 64;

/** The free space of the workspaces' disk, and the use of it per context (docs/configuration.md#disk-space). */
export function createDiskSpace(options: DiskSpaceOptions) {
  const { root, minFreeMb, limitMb, clock, log } = options;

  /** Synchronous, so that tasks which arrive one after the other begin in that order. */
  const freeMb = (): number => {
    const { bavail, bsize } = statfsSync(root);
    return (bavail * bsize) / MIB;
  };

  function shortage(): string | undefined {
    if (minFreeMb === 0) return undefined;
    const free = freeMb();
    if (free >= minFreeMb) return undefined;
    return `the disk of the workspaces has ${Math.floor(free)} MiB left, and work needs ${minFreeMb} (workspace.min_free_mb)`;
  }

  /** Watches the free space until it is disposed of; the signal aborts with CAPACITY when too little is left. */
  function watchFree(): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    let timer: Disposable | undefined;
    const poll = (): void => {
      try {
        const reason = shortage();
        if (reason !== undefined) controller.abort(new FleetError('CAPACITY', reason));
      } catch (error) {
        log.warn({ err: error, root }, 'the free space of the disk cannot be measured');
      }
      if (!controller.signal.aborted) timer = clock.timer(poll, FREE_EVERY_MS);
    };
    if (minFreeMb > 0) timer = clock.timer(poll, FREE_EVERY_MS);
    return { signal: controller.signal, [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
  }

  return {
    watchFree,
    /** The unmet requirement of new work while too little is free. */
    unmet(): Unmet | undefined {
      const detail = shortage();
      return detail === undefined ? undefined : { kind: 'capacity', name: 'disk', detail, transient: true };
    },
    /**
     * Ends a command that makes the folder grow above its limit; one that makes room may run. `wrap` confines the command
     * that measures the folder.
     */
    monitor(folders: readonly [string, ...string[]], wrap: Wrap): CommandMonitor {
      const tolerance = Math.min(TOLERANCE_MB, limitMb / 10);
      let known: { usedMb: number; freeMb: number; at: number } | undefined;

      /** `du` runs as the task, which can read its own files, whatever their modes. */
      async function usedMb(free: number): Promise<number> {
        const line = wrap('du', ['-skxc', ...folders]);
        const { stdout } = await runCommand(line, { cwd: folders[0], timeoutMs: DU_MS, clock });
        const kib = Number.parseInt(stdout.trim().split('\n').at(-1) ?? '', 10);
        if (Number.isNaN(kib)) throw new Error('du printed no size in time');
        known = { usedMb: kib / 1024, freeMb: free, at: clock.now() };
        return known.usedMb;
      }

      const mayExceed = (free: number): boolean =>
        known === undefined ||
        known.usedMb > limitMb ||
        known.usedMb + known.freeMb - free > limitMb ||
        clock.now() - known.at >= HOLDS_MS;

      return (command) => {
        let timer: Disposable | undefined;
        let over = false;
        /** The use at the first measurement of this command. */
        let before: number | undefined;
        const poll = async (): Promise<void> => {
          const free = freeMb();
          if (!mayExceed(free)) {
            before ??= limitMb;
            return;
          }
          const used = await usedMb(free);
          before ??= used;
          if (over || used <= limitMb || used - before <= tolerance) return;
          command.end(
            `the files of this task take ${Math.round(used)} MiB of disk, and the limit is ${limitMb} (workspace.max_mb); remove what is not needed`,
          );
        };
        const next = (afterMs: number): void => {
          if (over) return;
          timer = clock.timer(() => {
            const startedAt = clock.monotonic();
            const again = (): void => next(Math.max(USE_EVERY_MS, (clock.monotonic() - startedAt) * SHARE));
            poll().then(again, (error) => {
              log.warn({ err: error, folder: folders[0] }, 'the disk use of a context cannot be measured');
              again();
            });
          }, afterMs);
        };
        if (limitMb > 0) next(USE_EVERY_MS);
        return {
          [Symbol.dispose]() {
            over = true;
            timer?.[Symbol.dispose]();
          },
        };
      };
    },
  };
}

/** A line that several monitors watch. */
export const withMonitor = (line: CommandLine, monitor: CommandMonitor): CommandLine => {
  const other = line.monitor;
  if (other === undefined) return { ...line, monitor };
  return {
    ...line,
    monitor(command) {
      const both = new DisposableStack();
      both.use(other(command));
      both.use(monitor(command));
      return both;
    },
  };
};
