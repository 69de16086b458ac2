import type { JsonObject } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { walkTree } from './search/file-walk.ts';

const MAX_ENTRIES = 500;
const LIMITS = { maxDepth: 3, maxEntries: 100_000, maxMs: 10_000, packages: true };

/** `list_files` lists the tree below a directory, three levels deep, sorted; directories end in a slash. */
export function listFilesTool(options: { readonly clock: Clock }): AgentTool {
  return defineFileTool({
    name: 'list_files',
    description: 'List files, three directory levels deep.',
    mutates: false,
    inputSchema: z.strictObject({ path: z.string().optional() }),
    async run(input, { files, signal }) {
      const start = files.normalize(input.path ?? '.');
      const found: string[] = [];
      const cut = await walkTree(files, start, { ...LIMITS, ...options, signal }, ({ path, kind }) => {
        if (found.length >= MAX_ENTRIES) return 'enough';
        found.push(kind === 'directory' ? `${path}/` : path);
        return 'on';
      });
      const output: JsonObject = { entries: found };
      if (cut !== undefined && cut !== 'depth') output.more = 'there is more; list a subdirectory';
      return { ok: true, output, detail: start };
    },
  });
}
