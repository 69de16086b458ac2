import type { Dirent } from 'node:fs';
import { type FileHandle, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { AnchoredFiles } from './anchored-path.ts';
import { type AgentTool, defineFileTool } from './tool.ts';

const MAX_ENTRIES = 500;
const MAX_DEPTH = 3;
/** Of one directory: a command can make more entries than a gateway has memory for. */
const MAX_SCANNED = 10_000;
const HIDDEN = new Set(['.git', '.scratch']);

/** `list_files`: the tree below a directory, three levels deep, in order; directories end in a slash. */
export function listFilesTool(): AgentTool {
  return defineFileTool({
    name: 'list_files',
    description: 'List files, three directory levels deep.',
    mutates: false,
    inputSchema: z.strictObject({ path: z.string().optional() }),
    async run(input, { files }) {
      const start = files.normalize(input.path ?? '.');
      await using directory = await files.openDirectory(start);
      const found: string[] = [];
      await collect(files, directory, start === '.' ? '' : start, 1, found);
      const output: JsonObject = { entries: found };
      if (found.length >= MAX_ENTRIES) output.more = 'there is more; list a subdirectory';
      return { ok: true, output, detail: start };
    },
  });
}

async function collect(
  files: AnchoredFiles,
  directory: FileHandle,
  prefix: string,
  depth: number,
  found: string[],
): Promise<void> {
  for (const entry of await entriesOf(directory)) {
    if (HIDDEN.has(entry.name)) continue;
    if (found.length >= MAX_ENTRIES) return;
    const name = join(prefix, entry.name);
    found.push(entry.isDirectory() ? `${name}/` : name);
    if (!entry.isDirectory() || depth >= MAX_DEPTH) continue;
    const inner = await files.openDirectory(name).catch(() => undefined);
    if (inner === undefined) continue;
    try {
      await collect(files, inner, name, depth + 1, found);
    } finally {
      await inner.close();
    }
  }
}

async function entriesOf(directory: FileHandle): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(`/proc/self/fd/${directory.fd}`)) {
    entries.push(entry);
    if (entries.length >= MAX_SCANNED) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
