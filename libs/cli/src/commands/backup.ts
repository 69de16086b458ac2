import { resolve } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import manifest from '../../package.json' with { type: 'json' };
import { backUp, backUpToFile } from '../backup/backup.ts';
import { restore } from '../backup/restore.ts';
import { type Command, command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { backupUsage, restoreUsage } from '../usage/processes.ts';

const KB = 1_000;

/** `fleet backup|restore`: the whole fleet, or one member, in one file (docs/operations.md#backup-and-restore). */
export const backupCommands: readonly Command[] = [
  command(backupUsage, async ({ values, positionals, stdout, print }) => {
    const file = oneFile('backup', positionals);
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet backup');
    const options = { plan, member: values.member, release: manifest.version, clock };
    const summary = file === '-' ? await backUp(options, stdout) : await backUpToFile(options, resolve(file));
    const { manifest: made, pausedMs } = summary;
    const bytes = 'bytes' in summary ? Number(summary.bytes) : 0;
    const paused_s = Math.round(pausedMs) / 1000;
    if (file === '-') return 0;
    if (print) print({ file, bytes, paused_s, ...made });
    else {
      const paused = pausedMs > 0 ? `; the fleet stood still for ${paused_s} s` : '';
      printLines(stdout, [
        `${file}: ${made.parts.length} folders, ${Math.ceil(bytes / KB)} kB${paused}`,
        'it holds the keys and the content of all tasks: keep it where only you can read it',
      ]);
    }
    return 0;
  }),
  command(restoreUsage, async ({ values, positionals, stdout, print }) => {
    const file = oneFile('restore', positionals);
    if (file === '-') throw new FleetError('CONFIG_INVALID', 'a backup is read twice: name a file');
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet restore');
    const made = await restore(plan, resolve(file));
    if (print) print({ file, ...made });
    else {
      printLines(stdout, [
        `restored ${made.parts.length} folders, as of ${made.created_at}: ${made.parts.join(', ')}`,
        'what happened later is not in them; make up starts the fleet',
      ]);
    }
    return 0;
  }),
];

function oneFile(name: string, positionals: readonly string[]): string {
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError(`${name} takes the name of one file`);
  return file;
}
