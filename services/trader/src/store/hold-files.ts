import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { RiskMode } from '@hermes-fleet/protocol/control';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { HoldMarks } from '../control/unwritten-restrictions.ts';

/**
 * Opens the marks in a folder. A mark is a file that is removed, which needs no free space. There is a file for each risk mode
 * of a concern: they are made here for concerns that have none, and again when the last holder takes its mark back. Throws the
 * errors of the file system.
 */
export function openHoldMarks(options: {
  readonly dir: string;
  readonly concernIds: readonly string[];
  readonly log: Log;
}): HoldMarks {
  const { dir, log } = options;
  const folderOf = (concernId: string): string => join(dir, concernId);
  const holders = new Map<string, Set<string>>();

  /** From the least strict one on. */
  const missing = (concernId: string): RiskMode[] =>
    RiskMode.options.filter((mode) => !existsSync(join(folderOf(concernId), mode)));

  mkdirSync(dir, { recursive: true });
  for (const concernId of options.concernIds)
    if (!existsSync(folderOf(concernId))) prepare(folderOf(concernId));
  const earlier = new Map(options.concernIds.map((concernId) => [concernId, missing(concernId).at(-1)]));

  return {
    found: (concernId) => earlier.get(concernId),
    mark: (concernId, holder, mode) => {
      holders.set(concernId, (holders.get(concernId) ?? new Set()).add(holder));
      try {
        const file = join(folderOf(concernId), mode);
        if (existsSync(file)) unlinkSync(file);
        sync(folderOf(concernId));
        return true;
      } catch (err) {
        const about = { err, concern_id: concernId };
        log.error(about, 'a hold cannot be marked on disk: a restart would not know of it');
        return false;
      }
    },
    clear: (concernId, holder) => {
      const own = holders.get(concernId);
      own?.delete(holder);
      if (own === undefined || own.size > 0) return;
      try {
        for (const mode of missing(concernId)) touch(join(folderOf(concernId), mode));
        holders.delete(concernId);
        earlier.delete(concernId);
      } catch (err) {
        const about = { err, concern_id: concernId };
        log.warn(about, 'a mark cannot be taken back yet: a start now would come up held');
      }
    },
  };
}

/** Makes the folder of a concern with all its files, or nothing: a crash in between must not look like a mark. */
function prepare(folder: string): void {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  for (const mode of RiskMode.options) touch(join(draft, mode));
  renameSync(draft, folder);
}

const touch = (file: string): void => closeSync(openSync(file, 'a'));

/** Makes a removal outlast a loss of power. */
function sync(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
