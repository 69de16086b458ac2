import type { FileHandle } from 'node:fs/promises';
import { type Clock, ToolError } from '@hermes-fleet/protocol/ports';
import { type AnchoredFiles, hasCode } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool, ToolContext } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { PACKAGES } from './search/file-walk.ts';
import { GrepMatches, type GrepPlace, type GrepSearch } from './search/grep-search.ts';
import { searchPlainly } from './search/plain.ts';
import { runGrep } from './search/program.ts';

interface GrepOptions {
  readonly clock: Clock;
  /** False when commands cannot run; then the tool searches for literal text only. */
  readonly commands: boolean;
}

/** `grep_files`: the machine's `grep`, confined and with a deadline; without one, the gateway searches for literal text. */
export function grepFilesTool(options: GrepOptions): AgentTool {
  return defineFileTool({
    name: 'grep_files',
    description: `Find lines in files, by ${options.commands ? 'a Perl regular expression, or as text with fixed' : 'text: regular expressions are not available'}. Skips binary files, and ${PACKAGES} unless path leads there.`,
    mutates: false,
    inputSchema: z.strictObject({
      pattern: z.string().min(1).max(1000),
      ...(options.commands ? { fixed: z.boolean().optional() } : {}),
      path: z.string().optional().describe('directory or file'),
      include: z.string().max(200).optional().describe('names, e.g. *.ts'),
      ignore_case: z.boolean().optional(),
    }),
    async run(input, context) {
      const { pattern, include } = input;
      if (/[\0\n\r]/.test(pattern))
        throw new ToolError('the pattern is matched line by line: no line breaks in it');
      if (include !== undefined && /[\0/]/.test(include))
        throw new ToolError('include is a pattern of names, without a slash; give the directory as path');
      await using place = await openPlace(context.files, input.path ?? '.');
      const search: GrepSearch = {
        pattern,
        include,
        fixed: !options.commands || input.fixed === true,
        ignoreCase: input.ignore_case === true,
        packages: place.path.split('/').includes(PACKAGES),
      };
      const found = new GrepMatches();
      const notes = await searchAll(search, place, found, options, context);
      return { ok: true, output: found.matchesForModel(notes), detail: `${pattern} in ${place.path}` };
    },
  });
}

async function searchAll(
  search: GrepSearch,
  place: GrepPlace,
  found: GrepMatches,
  options: GrepOptions,
  context: ToolContext,
): Promise<string[]> {
  if (options.commands) {
    const notes = await runGrep(search, place, found, options.clock, context);
    if (notes !== 'no program') return notes;
    if (!search.fixed)
      throw new ToolError('there is no grep on this machine; look for a text with fixed: true');
  }
  return searchPlainly(search, place, found, options.clock, context);
}

async function openPlace(files: AnchoredFiles, path: string): Promise<GrepPlace & AsyncDisposable> {
  const name = files.normalize(path);
  const opened = (handle: FileHandle, kind: GrepPlace['kind']) => ({
    handle,
    kind,
    path: name,
    [Symbol.asyncDispose]: () => handle.close(),
  });
  try {
    return opened(await files.openDirectory(name), 'directory');
  } catch (error) {
    if (!hasCode(error, 'ENOTDIR')) throw error;
    return opened(await files.openFile(name, 'read'), 'file');
  }
}
