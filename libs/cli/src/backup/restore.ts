import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { ownCommand } from '../command-line/own-command.ts';
import { runningProcess } from '../local/pid-file.ts';
import type { FleetPlan } from '../local/plan.ts';
import { compareVersions } from '../upgrade/compare-versions.ts';
import {
  checkVersion,
  newer,
  recordedVersion,
  recordVersion,
  versionFile,
} from '../upgrade/state-version.ts';
import { checkArchive, extractArchive } from './archive.ts';
import type { Manifest } from './manifest.ts';

/**
 * Restores a backup (docs/operations.md#backup-and-restore) into the folder of a fleet that is down, and that has nothing of
 * what the backup holds. `own` is the version of the program. The archive is read whole before anything is written, and every database is checked afterwards.
 * Throws CONFIG_INVALID, and leaves everything as it was, modes too, if the archive or a database in it is damaged, a newer version made it, the
 * fleet runs, or a folder is in use.
 */
export async function restore(plan: FleetPlan, file: string, own: string): Promise<Manifest> {
  const manifest = await checkArchive(file);
  if (compareVersions(manifest.release, own) > 0)
    throw new FleetError('CONFIG_INVALID', `${file} was made by ${newer(manifest.release, own)}`);
  const isWhole = manifest.parts.includes('nats');
  if (!isWhole) checkVersion(versionFile(plan.keysDir), own);
  const running = plan.processes.filter(({ name }) => runningProcess(plan.runDir, name));
  if (running.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${running.map(({ name }) => name).join(', ')} runs: stop the fleet first (${ownCommand('down')})`,
    );
  const used = manifest.parts.filter((part) => !isFree(plan.dir, part));
  if (used.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${plan.dir} has ${used.join(', ')} already: restore into a folder without them, or move them away`,
    );
  const undo = remember(plan.dir, manifest.parts);
  try {
    // Commands of an agent pass through it on the way to their workspace.
    mkdirSync(plan.dir, { recursive: true, mode: 0o711 });
    await extractArchive(file, plan.dir);
    for (const part of manifest.parts)
      if (part.startsWith('state/')) checkDatabases(join(plan.dir, part), part);
    recordRestored(plan, manifest, isWhole);
  } catch (error) {
    undo();
    throw error;
  }
  return manifest;
}

/** A whole fleet is of the version that made the backup, unless its keys say of which; one member goes on with the fleet that is there. */
function recordRestored(plan: FleetPlan, { release }: Manifest, isWhole: boolean): void {
  const file = versionFile(plan.keysDir);
  const isFromBackup = file.startsWith(plan.keysDir) && recordedVersion(file) !== undefined;
  if (isWhole && !isFromBackup) recordVersion(file, release);
}

/** True for a part that is not there, or is an empty folder, and can be made. */
function isFree(dir: string, part: string): boolean {
  if (dirname(part) !== '.' && !isFolder(join(dir, dirname(part)))) return false;
  const path = join(dir, part);
  return isFolder(path) && (!existsSync(path) || readdirSync(path).length === 0);
}

/** Also true for what is not there. A link that leads nowhere is there. */
function isFolder(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return true;
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Makes a function that removes what a restore has written below `dir`, where these parts are empty or not there. Folders that
 * are there, which may be volumes, get their mode and owner back.
 */
function remember(dir: string, parts: readonly string[]): () => void {
  const folders = ['.', ...new Set(parts.map((part) => part.split('/')[0] ?? part)), ...parts];
  const before = folders.map((name) => {
    const path = join(dir, name);
    return { path, stat: statSync(path, { throwIfNoEntry: false }) };
  });
  return () => {
    for (const part of parts) empty(join(dir, part));
    for (const { path, stat } of before.toReversed()) {
      if (stat === undefined) rmSync(path, { recursive: true, force: true });
      else if (stat.isDirectory()) {
        chownSync(path, stat.uid, stat.gid);
        chmodSync(path, stat.mode);
      }
    }
  };
}

/** The folder itself may be a volume. */
function empty(dir: string): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true, force: true });
}

/** Reads every page of the databases of a member, with what their write-ahead logs have. */
function checkDatabases(dir: string, part: string): void {
  for (const name of readdirSync(dir).filter((each) => each.endsWith('.db'))) {
    const found = damageIn(join(dir, name));
    if (found !== 'ok')
      throw new FleetError('CONFIG_INVALID', `${part}/${name} is damaged in the backup: ${found}`);
  }
}

function damageIn(file: string): string {
  try {
    using db = new DatabaseSync(file);
    return String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check);
  } catch (error) {
    // Not a database at all, or one whose schema cannot be read.
    return error instanceof Error ? error.message : String(error);
  }
}
