import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { runningProcess } from '../local/pid-file.ts';
import type { FleetPlan } from '../local/plan.ts';
import { writeArchive } from './archive.ts';
import { findParts, type Manifest, makeManifest } from './manifest.ts';
import { pauseProcesses } from './pause.ts';

export interface BackupOptions {
  readonly plan: FleetPlan;
  /** Only this member, without the streams. */
  readonly member?: string | undefined;
  readonly release: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

export interface BackupSummary {
  readonly manifest: Manifest;
  /** How long the processes of the fleet stood still, ms; 0 if none ran. */
  readonly pausedMs: number;
}

/**
 * Backs up a fleet (docs/operations.md#backup-and-restore): keys, ledgers, audit, books, workspaces and streams, as of one
 * moment. The processes of the fleet stand still meanwhile. Throws CONFIG_INVALID if there is nothing to back up.
 */
export async function backUp(options: BackupOptions, out: Writable): Promise<BackupSummary> {
  const { plan, member, release, clock } = options;
  const parts = findParts(plan.dir, member);
  const names = plan.processes
    .map(({ name }) => name)
    .filter((name) => member === undefined || name === member);
  const pids = names.flatMap((name) => runningProcess(plan.runDir, name)?.pid ?? []);
  const begunAt = clock.monotonic();
  const manifest = await (async () => {
    await using pause = pids.length > 0 ? await pauseProcesses(pids) : undefined;
    const made = makeManifest(parts, release, clock.now());
    await writeArchive(plan.dir, made, out);
    pause?.check();
    return made;
  })();
  return { manifest, pausedMs: pids.length > 0 ? clock.monotonic() - begunAt : 0 };
}

/**
 * Backs up a fleet to a file that only its owner can read. It gets its name when it is complete. Throws CONFIG_INVALID if
 * it exists, and as `backUp`.
 */
export async function backUpToFile(
  options: BackupOptions,
  file: string,
): Promise<BackupSummary & { readonly bytes: number }> {
  if (existsSync(file))
    throw new FleetError('CONFIG_INVALID', `${file} exists: name another file, or remove it`);
  const partial = `${file}.partial`;
  const handle = await open(partial, 'wx', 0o600).catch((cause: unknown) => {
    if (systemCode(cause) !== 'EEXIST') throw cause;
    const reason = `${partial} exists, of a backup that runs or broke off: remove it`;
    throw new FleetError('CONFIG_INVALID', reason, { cause });
  });
  const out = handle.createWriteStream({ flush: true });
  try {
    const summary = await backUp(options, out);
    renameSync(partial, file);
    return { ...summary, bytes: statSync(file).size };
  } catch (error) {
    out.destroy();
    rmSync(partial, { force: true });
    throw error;
  }
}
