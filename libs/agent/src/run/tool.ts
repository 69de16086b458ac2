import { defineTool, type ToolDefinition, ToolError } from '@hermes-fleet/protocol';
import { jsonSchema, type ToolSet, tool } from 'ai';
import type { z } from 'zod';
import type { AgentTool, ToolContext } from './conversation.ts';

const FILE_ERRORS: Readonly<Record<string, string>> = {
  E2BIG: 'it is too long for a command; write it to a file and run that',
  EACCES: 'no permission',
  EISDIR: 'it is a directory',
  ELOOP: 'a symlink is in the path',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'there is no such file or directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  ENXIO: 'it is not a regular file',
  EPERM: 'no permission',
};

/**
 * Names of parameters in the tools of other agents, which models have learnt, and ours. A tool that has no such parameter
 * is not affected.
 */
const SYNONYMS: Readonly<Record<string, string>> = {
  file_path: 'path',
  filepath: 'path',
  filename: 'path',
  file_name: 'path',
  file: 'path',
  absolute_path: 'path',
  target_file: 'path',
  directory: 'path',
  dir: 'path',
  old_string: 'old_text',
  old_str: 'old_text',
  new_string: 'new_text',
  new_str: 'new_text',
  file_text: 'content',
  contents: 'content',
  text: 'content',
  cmd: 'command',
  bash: 'command',
  script: 'command',
  timeout_seconds: 'timeout_s',
  start_line: 'offset',
  max_lines: 'limit',
  regex: 'pattern',
  glob: 'include',
};

/** Defines a tool whose file system errors become results that the model can act on. */
export function defineFileTool<S extends z.ZodType>(definition: ToolDefinition<S, ToolContext>): AgentTool {
  return defineTool<S, ToolContext>({
    synonyms: SYNONYMS,
    ...definition,
    async run(input, context) {
      try {
        return await definition.run(input, context);
      } catch (error) {
        if (error instanceof ToolError) throw error;
        const reason =
          error instanceof Error && 'code' in error ? FILE_ERRORS[String(error.code)] : undefined;
        throw reason === undefined ? error : new ToolError(reason);
      }
    },
  });
}

/** The tools' definitions, for the AI SDK and as text for token estimates. The SDK cannot execute them. */
export function toolDefinitions(tools: readonly AgentTool[]): { set: ToolSet; json: string } {
  const set: ToolSet = {};
  const described = tools.map(({ name, description, parameters }) => {
    // The tool itself checks its input, so that invalid input becomes an ordinary failed result.
    set[name] = tool({ description, inputSchema: jsonSchema(parameters) });
    return { name, description, parameters };
  });
  return { set, json: JSON.stringify(described) };
}
