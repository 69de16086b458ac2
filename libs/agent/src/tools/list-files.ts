import { type FileHandle, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { AnchoredFiles } from './anchored-path.ts';
import { type AgentTool, defineTool } from './tool.ts';

const MAX_ENTRIES = 500;
const MAX_DEPTH = 3;
const HIDDEN = new Set(['.git', '.scratch']);

/** `list_files`: the tree below a directory, three levels deep, in order; directories end in a slash. */
export function listFilesTool(): AgentTool {
  return defineTool({
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
  const entries = await readdir(`/proc/self/fd/${directory.fd}`, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (HIDDEN.has(entry.name)) continue;
    if (found.length >= MAX_ENTRIES) return;
    const name = join(prefix, entry.name);
    found.push(entry.isDirectory() ? `${name}/` : name);
    if (!entry.isDirectory() || depth >= MAX_DEPTH) continue;
    await using inner = await files.openDirectory(name);
    await collect(files, inner, name, depth + 1, found);
  }
}
