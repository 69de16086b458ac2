import { resolve } from 'node:path';
import { version } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { backUp, backUpToFile } from '../backup/backup.ts';
import type { Manifest } from '../backup/manifest.ts';
import { restore } from '../backup/restore.ts';
import { command } from '../command-line/command.ts';
import { oneArgument, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { ownCommand } from '../command-line/own-command.ts';
import { backupUsage, restoreUsage } from '../command-specs/processes.ts';
import { backUpContainers, restoreContainers } from '../containers/backup.ts';
import { preflight } from '../containers/preflight.ts';
import { placeOf } from '../containers/state-place.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { fleetInContainers, namesProcesses, plannedFleet } from '../running/running-fleet.ts';
import { checkVersion, versionFile } from '../upgrade/state-version.ts';

const KB = 1_000;
const KEEP_SAFE = 'it holds the keys and the content of all tasks: keep it where only you can read it';

/** `fleet backup|restore`: the whole fleet, or one member, in one file (docs/operations.md#backup-and-restore). */
export const commands = [
  command(backupUsage, async ({ values, positionals, env, stdout, stderr, show }) => {
    const file = oneArgument(positionals, 'backup takes the name of one file');
    const { member } = values;
    if (!namesProcesses(values)) {
      const folder = currentFolder();
      const { mode, text } = await placeOf(folder, env, `state/${member ?? ORCHESTRATOR}`);
      printLines(stderr, [`the backup is of ${text}, and of what belongs to it`]);
      if (mode === 'docker') {
        if (file === '-') throw new UsageError('a backup of containers is a file: name it');
        using _lock = lockFolder(folder.dir, 'fleet backup');
        const { pausedMs, bytes } = await backUpContainers(
          { folder, env, stderr, clock },
          resolve(file),
          member,
        );
        const paused_s = Math.round(pausedMs) / 1000;
        show({ file, bytes, paused_s }, () => madeBackup(file, bytes, paused_s));
        return 0;
      }
    }
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet backup');
    // The manifest names this version as that of the state.
    checkVersion(versionFile(plan.keysDir), version());
    const options = { plan, member, release: version(), clock };
    if (file === '-') {
      await backUp(options, stdout);
      return 0;
    }
    const { manifest: made, pausedMs, bytes } = await backUpToFile(options, resolve(file));
    const paused_s = Math.round(pausedMs) / 1000;
    show({ file, bytes, paused_s, ...made }, ({ parts }) => madeBackup(file, bytes, paused_s, parts.length));
    return 0;
  }),
  command(restoreUsage, async ({ values, positionals, env, stderr, show }) => {
    const file = oneArgument(positionals, 'restore takes the name of one file');
    if (file === '-') throw new FleetError('CONFIG_INVALID', 'a backup is read twice: name a file');
    const containers = await fleetInContainers(values, env);
    if (containers) {
      const checked = await preflight(containers, 'up', { env, stderr });
      if (checked === undefined) return 1;
      using _lock = lockFolder(containers.dir, 'fleet restore');
      const made = await restoreContainers({ folder: containers, env: checked, stderr }, resolve(file));
      show({ file, ...made }, restored);
      return 0;
    }
    const plan = plannedFleet(values);
    using _lock = lockFolder(plan.dir, 'fleet restore');
    const made = await restore(plan, resolve(file), version());
    show({ file, ...made }, restored);
    return 0;
  }),
];

function madeBackup(file: string, bytes: number, paused_s: number, folders?: number): string[] {
  const paused = paused_s > 0 ? `; the fleet stood still for ${paused_s} s` : '';
  const parts = folders === undefined ? '' : `${folders} folders, `;
  return [`${file}: ${parts}${Math.ceil(bytes / KB)} kB${paused}`, KEEP_SAFE];
}

const restored = ({ parts, created_at }: Pick<Manifest, 'parts' | 'created_at'>): string[] => [
  `restored ${parts.length} folders, as of ${created_at}: ${parts.join(', ')}`,
  `what happened later is not in them; ${ownCommand('up')} starts the fleet`,
];
