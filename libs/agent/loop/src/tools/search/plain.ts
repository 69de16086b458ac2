import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { at } from '@hermes-fleet/workspace';
import type { ToolContext } from '../../run/conversation.ts';
import { type Found, unlessGone, walkTree } from './file-walk.ts';
import { parseGlob } from './glob.ts';
import type { GrepMatches, GrepPlace, GrepSearch } from './grep-search.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const LIMITS = { maxDepth: 40, maxEntries: 100_000, maxMs: 20_000 };

/** Searches for literal text in the gateway's own process, in time linear in the size of the files. */
export async function searchPlainly(
  search: GrepSearch,
  place: GrepPlace,
  found: GrepMatches,
  clock: Clock,
  { files, signal }: ToolContext,
): Promise<string[]> {
  const wanted = search.ignoreCase ? search.pattern.toLowerCase() : search.pattern;
  const included = search.include === undefined ? () => true : parseGlob(search.include);
  let tooLong = 0;

  async function searchFile(file: FileHandle, path: string): Promise<void> {
    const stats = await file.stat();
    if (!stats.isFile()) return;
    if (stats.size > MAX_FILE_BYTES) {
      tooLong += 1;
      return;
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    const content = buffer.subarray(0, bytesRead);
    if (content.includes(0)) return;
    for (const [index, line] of content.toString('utf8').split('\n').entries()) {
      if ((search.ignoreCase ? line.toLowerCase() : line).includes(wanted))
        found.add(path, index + 1, line.replace(/\r$/, ''));
    }
  }

  async function visit({ path, name, directory, kind }: Found): Promise<'on'> {
    if (kind !== 'file' || !included(name)) return 'on';
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    const file = await open(at(directory, name), flags).catch(unlessGone);
    if (file === undefined) return 'on';
    await using _closed = file;
    await searchFile(file, path);
    return 'on';
  }

  const limits = { ...LIMITS, packages: search.packages, clock, signal };
  const isTree = place.kind === 'directory';
  if (!isTree) await searchFile(place.handle, place.path);
  const cut = isTree ? await walkTree(files, place.path, limits, visit) : undefined;
  return [
    'searched for the literal text',
    ...(cut === undefined ? [] : [`stopped at a limit (${cut}), so there may be more: narrow the path`]),
    ...(tooLong === 0 ? [] : [`${tooLong} files above ${MAX_FILE_BYTES} bytes were not searched`]),
  ];
}
