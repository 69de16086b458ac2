import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import { runningProcess } from '../local/pid-file.ts';
import type { FleetPlan } from '../local/plan.ts';
import { checkArchive, extractArchive } from './archive.ts';
import type { Manifest } from './manifest.ts';

/**
 * Restores a backup (docs/operations.md#backup-and-restore) into the folder of a fleet that is down, and that has nothing of
 * what the backup holds. The archive is read whole before anything is written, and every database is checked afterwards.
 * Throws CONFIG_INVALID, and leaves the folder as it was, if the archive is damaged, the fleet runs, or a folder is in use.
 */
export async function restore(plan: FleetPlan, file: string): Promise<Manifest> {
  const manifest = await checkArchive(file);
  const running = plan.processes.filter(({ name }) => runningProcess(plan.runDir, name));
  if (running.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${running.map(({ name }) => name).join(', ')} runs: stop the fleet first (make down)`,
    );
  const used = manifest.parts.filter((part) => !isEmpty(join(plan.dir, part)));
  if (used.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${plan.dir} has ${used.join(', ')} already: restore into a folder without them, or move them away`,
    );
  // Commands of an agent pass through it on the way to their workspace.
  mkdirSync(plan.dir, { recursive: true, mode: 0o711 });
  try {
    await extractArchive(file, plan.dir);
    for (const part of manifest.parts)
      if (part.startsWith('state/')) checkDatabases(join(plan.dir, part), part);
  } catch (error) {
    for (const part of manifest.parts) empty(join(plan.dir, part));
    throw error;
  }
  return manifest;
}

const isEmpty = (dir: string): boolean => !existsSync(dir) || readdirSync(dir).length === 0;

/** The folder itself may be a volume. */
function empty(dir: string): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true, force: true });
}

/** Reads every page of the databases of a member, with what their write-ahead logs have. */
function checkDatabases(dir: string, part: string): void {
  for (const name of readdirSync(dir).filter((each) => each.endsWith('.db'))) {
    using db = new DatabaseSync(join(dir, name));
    const found = db.prepare('PRAGMA quick_check(1)').get()?.quick_check;
    if (found !== 'ok')
      throw new FleetError('CONFIG_INVALID', `${part}/${name} is damaged in the backup: ${String(found)}`);
  }
}
