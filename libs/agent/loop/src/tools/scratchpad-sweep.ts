import { renameSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import type { OpenTree, Workspaces } from '@hermes-fleet/workspace';
import {
  type AnchoredFiles,
  type AnchoredFolder,
  anchoredFolder,
  at,
  COMMAND_ENV,
  hasCode,
  runCommand,
} from '@hermes-fleet/workspace';
import { HOME, OUTPUTS, SCRATCH, scratchName } from './scratchpad.ts';
import { unlessGone } from './search/file-walk.ts';

const DAY_MS = 86_400_000;

export interface UnfinishedTask {
  readonly id: string;
  /** Id of its root task; its own id when it is not part of another task. */
  readonly rootId: string;
}

interface SweepOptions {
  readonly workspaces: Pick<Workspaces, 'trees' | 'contexts'>;
  readonly keepDays: number;
  /** Tasks whose scratchpad and outputs stay, whatever their age. Called right before each removal. */
  readonly unfinished: () => Iterable<UnfinishedTask>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/**
 * Removes scratchpads `keepDays` after their last use (docs/agent.md#progress-scratchpad-memory); in place, spilled outputs
 * too: others go with their tree. Each is renamed, then removed with the rights of a command; symlinks are not followed.
 * Resolves with their number.
 */
export async function sweepScratch(options: SweepOptions, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for (const tree of await options.workspaces.trees()) {
    signal.throwIfAborted();
    try {
      await using opened = await tree.openTree();
      await using scratch = await opened?.files.openFolder(SCRATCH);
      if (opened && scratch) removed += await sweepFolder({ tree: opened, scratch }, options, signal);
    } catch (err) {
      signal.throwIfAborted();
      options.log.warn({ tree: tree.dir, err }, 'cannot remove the old scratchpads of a tree');
    }
  }
  return removed;
}

/** Sweeps now and once a day. */
export function startSweeping(options: SweepOptions): { close(): Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;

  async function keepSweeping(): Promise<void> {
    while (!signal.aborted) {
      try {
        const removed = await sweepScratch(options, signal);
        if (removed > 0) options.log.info({ removed }, 'removed old scratchpads and outputs');
        await options.clock.sleep(DAY_MS, signal);
      } catch (err) {
        if (signal.aborted) return;
        options.log.warn({ err }, 'cannot remove old scratchpads; next try in a day');
        await options.clock.sleep(DAY_MS, signal).catch(() => undefined);
      }
    }
  }

  const running = keepSweeping();
  return {
    close() {
      closing.abort();
      return running;
    },
  };
}

interface Place {
  readonly tree: OpenTree;
  readonly scratch: AnchoredFolder;
}

async function sweepFolder(place: Place, options: SweepOptions, signal: AbortSignal): Promise<number> {
  const { scratch } = place;
  const { files } = place.tree;
  const before = options.clock.now() - options.keepDays * DAY_MS;
  const entries = await scratch.entries();
  let left = entries.some(({ name }) => name.startsWith(SWEPT));
  let removed = 0;

  function setAside(from: AnchoredFolder, name: string): void {
    renameSync(at(from.handle, name), at(scratch.handle, `${SWEPT}${options.ids.uuid()}`));
    removed += 1;
    left = true;
  }

  for (const entry of entries) {
    signal.throwIfAborted();
    const { name } = entry;
    if (name.startsWith(SWEPT) || name === HOME || (name === OUTPUTS && entry.isDirectory())) continue;
    const used = await (entry.isDirectory() ? lastUse(files, scratch, name) : changed(scratch, name));
    if (used < before && !scratchInUse(name, options)) setAside(scratch, name);
  }
  const sweepsOutputs = options.workspaces.contexts === undefined;
  const hasOutputs = sweepsOutputs && entries.some((entry) => entry.name === OUTPUTS && entry.isDirectory());
  await using outputs = hasOutputs ? await files.openFolder(`${SCRATCH}/${OUTPUTS}`) : undefined;
  for (const { name } of (await outputs?.entries()) ?? []) {
    signal.throwIfAborted();
    if (outputs && (await changed(outputs, name)) < before && !outputInUse(name, options))
      setAside(outputs, name);
  }
  if (left) await removeSwept(place, options, signal);
  return removed;
}

const SWEPT = '.swept-';

function scratchInUse(name: string, options: SweepOptions): boolean {
  return [...options.unfinished()].some(({ rootId }) => scratchName(rootId) === name);
}

/** The name of an output begins with its task's id, with unsafe characters replaced. */
function outputInUse(name: string, options: SweepOptions): boolean {
  return [...options.unfinished()].some(({ id }) => lettersOf(name).startsWith(lettersOf(id)));
}

const lettersOf = (text: string): string => text.replace(/[^A-Za-z0-9]/g, '');

/** Modification time in milliseconds since the epoch; Infinity when the entry is gone, which keeps it from removal. */
async function changed(folder: AnchoredFolder, name: string): Promise<number> {
  try {
    return (await lstat(at(folder.handle, name))).mtimeMs;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return Infinity;
    throw error;
  }
}

async function lastUse(files: AnchoredFiles, scratch: AnchoredFolder, name: string): Promise<number> {
  const used = await changed(scratch, name);
  const handle = await files.enter(scratch.handle, name).catch(unlessGone);
  if (handle === undefined) return used;
  await using pad = anchoredFolder(handle, async () => {});
  const times = await Promise.all((await pad.entries()).map((entry) => changed(pad, entry.name)));
  return Math.max(used, ...times.filter(Number.isFinite));
}

/** Runs as a command, which may remove what commands made, in the open directory itself. */
async function removeSwept(
  { tree, scratch: { handle } }: Place,
  { clock, log }: SweepOptions,
  signal: AbortSignal,
): Promise<void> {
  const { dev, ino } = await handle.stat({ bigint: true });
  const args = ['-c', REMOVE, 'sh', `${dev}:${ino}`];
  const line = tree.wrap('/bin/sh', args);
  const cwd = `/proc/self/fd/${handle.fd}`;
  const { exitCode, stderr } = await runCommand(line, { cwd, env: COMMAND_ENV, ...LIMITS, signal, clock });
  if (exitCode !== 0)
    log.warn(
      { tree: tree.dir, exitCode, stderr: stderr.slice(0, 500) },
      'some old scratchpads could not be removed',
    );
}

const LIMITS = { timeoutMs: 60_000, keepBytes: 2000, maxBytes: 1_000_000 };
const REMOVE = `test "$1" = "$(stat -c %d:%i .)" || exit 91; exec rm -rf -- ./${SWEPT}*`;
