import type { JsonObject } from '@hermes-fleet/protocol';
import {
  defineTool,
  type ToolDefinition,
  ToolError,
  type ToolInput,
  toolFailure,
} from '@hermes-fleet/protocol/ports';
import { jsonSchema, type ToolSet, tool } from 'ai';
import type { z } from 'zod';
import type { AgentTool, ToolContext } from './conversation.ts';
import { sentSchema } from './sent-schema.ts';

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

/** Names of parameters in other agents' tools, which models have learnt, and ours. */
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

interface FileToolDefinition<S extends z.ZodType> extends ToolDefinition<S, ToolContext> {
  /** Parameters that the tool does not have, and without which a call that has them must not be carried out. */
  readonly unsupported?: Unsupported;
}

/** Defines a tool whose file system errors are results. Its synonyms come before those that all such tools have. */
export function defineFileTool<S extends z.ZodType>(definition: FileToolDefinition<S>): AgentTool {
  const { unsupported = {}, synonyms } = definition;
  const tool = defineTool<S, ToolContext>({
    ...definition,
    synonyms: { ...SYNONYMS, ...synonyms },
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
  function readInput(raw: unknown): ToolInput {
    const read = tool.readInput?.(raw) ?? { input: raw, notes: [] };
    const problem = read.problem ?? unsupportedIn(read.dropped ?? [], unsupported);
    return problem === undefined ? read : { ...read, input: raw, problem };
  }
  return {
    ...tool,
    readInput,
    async run(raw, context) {
      const { problem } = readInput(raw);
      return problem === undefined ? tool.run(raw, context) : toolFailure(`wrong input: ${problem}`);
    },
  };
}

/** The tools' definitions, for the AI SDK and as text for token estimates. The SDK cannot execute them. */
export function toolDefinitions(tools: readonly AgentTool[]): { set: ToolSet; json: string } {
  const set: ToolSet = {};
  const described = tools.map(({ name, description, parameters: whole }) => {
    const parameters = sentParameters(whole);
    // The tool itself checks its input, so that invalid input becomes an ordinary failed result.
    set[name] = tool({ description, inputSchema: jsonSchema(parameters) });
    return { name, description, parameters };
  });
  return { set, json: JSON.stringify(described) };
}

const compiled = new WeakMap<JsonObject, JsonObject>();

/** Compiles the form of a tool's schema that a model is sent (`sentSchema`), once for each schema. */
export function sentParameters(whole: JsonObject): JsonObject {
  const known = compiled.get(whole) ?? sentSchema(whole).schema;
  compiled.set(whole, known);
  return known;
}

/** A parameter of other agents' tools that changes what a call does, and that a tool of ours does not have. */
interface UnsupportedParameter {
  /** The values, as text in lower case, with which the call is the same as without it. `null` always is. */
  readonly same: readonly string[];
  /** What to do instead. */
  readonly instead: string;
}

/** Unsupported parameters by their names in snake case. */
export type Unsupported = Readonly<Record<string, UnsupportedParameter>>;

/** Why a call must not be carried out without the parameters that were dropped; undefined when it may. */
function unsupportedIn(
  dropped: NonNullable<ToolInput['dropped']>,
  unsupported: Unsupported,
): string | undefined {
  const problems = dropped.flatMap(({ key, name, value }) => {
    const known = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (known === undefined || value === null || known.same.includes(asText(value))) return [];
    return [`${key} is not supported: ${known.instead}`];
  });
  return problems.length === 0 ? undefined : [...new Set(problems)].slice(0, MAX_PROBLEMS).join('; ');
}

const MAX_PROBLEMS = 4;

const asText = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).trim().toLowerCase();
