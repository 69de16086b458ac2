import { resolve } from 'node:path';
import { version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { backUp, backUpToFile } from '../backup/backup.ts';
import { restore } from '../backup/restore.ts';
import { command } from '../command-line/command.ts';
import { oneArgument } from '../command-line/option-values.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { backupUsage, restoreUsage } from '../command-specs/processes.ts';
import { lockFolder } from '../local/folder-lock.ts';

const KB = 1_000;

/** `fleet backup|restore`: the whole fleet, or one member, in one file (docs/operations.md#backup-and-restore). */
export const commands = [
  command(backupUsage, async ({ values, positionals, stdout, show }) => {
    const file = oneArgument(positionals, 'backup takes the name of one file');
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet backup');
    const options = { plan, member: values.member, release: version(), clock };
    if (file === '-') {
      await backUp(options, stdout);
      return;
    }
    const { manifest: made, pausedMs, bytes } = await backUpToFile(options, resolve(file));
    const paused_s = Math.round(pausedMs) / 1000;
    const paused = pausedMs > 0 ? `; the fleet stood still for ${paused_s} s` : '';
    show({ file, bytes, paused_s, ...made }, ({ parts }) => [
      `${file}: ${parts.length} folders, ${Math.ceil(bytes / KB)} kB${paused}`,
      'it holds the keys and the content of all tasks: keep it where only you can read it',
    ]);
  }),
  command(restoreUsage, async ({ values, positionals, show }) => {
    const file = oneArgument(positionals, 'restore takes the name of one file');
    if (file === '-') throw new FleetError('CONFIG_INVALID', 'a backup is read twice: name a file');
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet restore');
    const made = await restore(plan, resolve(file), version());
    show({ file, ...made }, ({ parts, created_at }) => [
      `restored ${parts.length} folders, as of ${created_at}: ${parts.join(', ')}`,
      'what happened later is not in them; make up starts the fleet',
    ]);
  }),
];
