import type { JsonObject } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { MAX_SCANNED } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { PACKAGES, type WalkCut, walkTree } from './search/file-walk.ts';
import { parseGlob } from './search/glob.ts';

const MAX_FOUND = 500;
const LIMITS = { maxDepth: 40, maxEntries: 100_000, maxMs: 10_000 };
const LISTED_DEPTH = 3;

/** `find_files` lists the files whose path matches a pattern, sorted; bounded in time, depth and number. */
export function findFilesTool(options: { readonly clock: Clock }): AgentTool {
  return defineFileTool({
    name: 'find_files',
    description: `Find files by a pattern: *.ts (any directory), src/**/*.{ts,js}. Skips ${PACKAGES} unless path leads there.`,
    mutates: false,
    inputSchema: z.strictObject({
      pattern: z.string().min(1).max(1000),
      path: z.string().optional().describe('directory that it is relative to'),
    }),
    synonyms: { glob: 'pattern', include: 'pattern', glob_pattern: 'pattern' },
    async run(input, { files, signal }) {
      const start = files.normalize(input.path ?? '.');
      const matches = parseGlob(files.normalize(input.pattern));
      const below = start === '.' ? 0 : start.length + 1;
      const found: string[] = [];
      const packages = start.split('/').includes(PACKAGES);
      const limits = { ...LIMITS, ...options, packages, signal };
      const cut = await walkTree(files, start, limits, ({ path, kind }) => {
        if (kind === 'directory' || !matches(path.slice(below))) return 'on';
        if (found.length >= MAX_FOUND) return 'enough';
        found.push(path);
        return 'on';
      });
      const output: JsonObject = { files: found.sort() };
      if (cut !== undefined) output.incomplete = `${WHY[cut]}; search a subdirectory`;
      return { ok: true, output, detail: `${input.pattern} in ${start}` };
    },
  });
}

const WHY: Readonly<Record<WalkCut, string>> = {
  enough: 'there are more',
  entries: `stopped after ${LIMITS.maxEntries} entries`,
  time: `stopped after ${LIMITS.maxMs / 1000} s`,
  crowd: `only ${MAX_SCANNED} entries of a directory are looked at`,
  depth: `not searched deeper than ${LIMITS.maxDepth} directories`,
};

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
      const limits = { ...LIMITS, maxDepth: LISTED_DEPTH, packages: true, ...options, signal };
      const cut = await walkTree(files, start, limits, ({ path, kind }) => {
        if (found.length >= MAX_FOUND) return 'enough';
        found.push(kind === 'directory' ? `${path}/` : path);
        return 'on';
      });
      const output: JsonObject = { entries: found };
      if (cut !== undefined && cut !== 'depth') output.more = 'there is more; list a subdirectory';
      return { ok: true, output, detail: start };
    },
  });
}
