import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles } from '@hermes-fleet/workspace';
import { entriesOf, hasCode, MAX_SCANNED } from '@hermes-fleet/workspace';

/** Git's own folder and the scratchpads are never visited. */
const HIDDEN: ReadonlySet<string> = new Set(['.git', '.scratch']);
export const PACKAGES = 'node_modules';

interface WalkLimits {
  readonly maxDepth: number;
  readonly maxEntries: number;
  readonly maxMs: number;
  readonly packages: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Found {
  /** Relative to the workspace. */
  readonly path: string;
  readonly name: string;
  /** Its parent directory, open. */
  readonly directory: FileHandle;
  readonly kind: 'file' | 'directory' | 'other';
}

export type WalkCut = 'depth' | 'crowd' | 'entries' | 'time' | 'enough';

/** A walk yields to the event loop at this interval. */
const TURN_MS = 20;

/** Visits a tree in order until `enough`; skips symlinks, `.git`, `.scratch` and what cannot be entered. */
export async function walkTree(
  files: AnchoredFiles,
  start: string,
  limits: WalkLimits,
  visit: (found: Found) => 'on' | 'enough' | Promise<'on' | 'enough'>,
): Promise<WalkCut | undefined> {
  const until = limits.clock.now() + limits.maxMs;
  let seen = 0;
  let missed: 'depth' | 'crowd' | undefined;
  let turnEnds = limits.clock.now() + TURN_MS;

  async function inside(directory: FileHandle, prefix: string, depth: number): Promise<WalkCut | undefined> {
    const entries = await entriesOf(directory);
    if (entries.length >= MAX_SCANNED) missed = 'crowd';
    for (const entry of entries) {
      if (limits.clock.now() >= turnEnds) {
        await nextTurn();
        turnEnds = limits.clock.now() + TURN_MS;
      }
      limits.signal.throwIfAborted();
      if (HIDDEN.has(entry.name)) continue;
      if (seen >= limits.maxEntries) return 'entries';
      if (limits.clock.now() >= until) return 'time';
      seen += 1;
      const { name } = entry;
      const path = join(prefix, name);
      const kind = entry.isDirectory() ? 'directory' : entry.isFile() ? 'file' : 'other';
      if ((await visit({ path, name, directory, kind })) === 'enough') return 'enough';
      if (kind !== 'directory' || (name === PACKAGES && !limits.packages)) continue;
      if (depth >= limits.maxDepth) {
        missed ??= 'depth';
        continue;
      }
      const inner = await files.enter(directory, name).catch(unlessGone);
      if (inner === undefined) continue;
      try {
        const cut = await inside(inner, path, depth + 1);
        if (cut !== undefined) return cut;
      } finally {
        await inner.close();
      }
    }
    return undefined;
  }

  await using directory = await files.openDirectory(start);
  return (await inside(directory, start === '.' ? '' : start, 1)) ?? missed;
}

/** Ignores what only the commands' user may open, or what has just been replaced. */
export function unlessGone(error: unknown): undefined {
  if (!hasCode(error, 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) throw error;
}
