import { defineTool, type ToolDefinition, ToolError } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import type { AgentTool, ToolContext } from './conversation.ts';

const REFUSALS: Readonly<Record<string, string>> = {
  E2BIG: 'it is too long for a command; write it to a file and run that',
  EACCES: 'no permission',
  EISDIR: 'it is a directory',
  ELOOP: 'a symlink stands in the way',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'there is no such file or directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  ENXIO: 'it is not a regular file',
  EPERM: 'no permission',
};

/** A tool that works on files: what the file system refuses becomes a result too. */
export function defineFileTool<S extends z.ZodType>(o: ToolDefinition<S, ToolContext>): AgentTool {
  return defineTool<S, ToolContext>({
    ...o,
    async run(input, context) {
      try {
        return await o.run(input, context);
      } catch (error) {
        if (error instanceof ToolError) throw error;
        const refusal = error instanceof Error && 'code' in error ? REFUSALS[String(error.code)] : undefined;
        throw refusal === undefined ? error : new ToolError(refusal);
      }
    },
  });
}
