import type { JsonValue } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { Workspace } from '../workspace/workspace.ts';
import type { AnchoredFiles } from './anchored-path.ts';

/** What a tool call came to. `output` is what the model sees; an error is a result that it can act on. */
export interface ToolResult {
  readonly ok: boolean;
  readonly output: JsonValue;
  /** For the record: which file or command, and its exit code. Never sent to the bus. */
  readonly detail?: string;
  readonly exitCode?: number | null;
}

/** What a call works on. */
export interface ToolContext {
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  readonly signal: AbortSignal;
}

/** A tool as the loop sees it. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
  /** Whether a call whose outcome is unknown must not simply be repeated. */
  readonly mutates: boolean;
  /** Throws nothing but the signal's reason, and what nobody foresaw. */
  run(input: unknown, context: ToolContext): Promise<ToolResult>;
}

/** A failure that the model is told, in words that it can act on. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

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

/** A tool from its schema and its work: wrong input and foreseen failures become results. */
export function defineTool<S extends z.ZodType>(o: {
  name: string;
  description: string;
  inputSchema: S;
  mutates: boolean;
  run(input: z.output<S>, context: ToolContext): Promise<ToolResult>;
}): AgentTool {
  return {
    ...o,
    async run(raw, context) {
      context.signal.throwIfAborted();
      const parsed = o.inputSchema.safeParse(raw);
      if (!parsed.success) return failure(`wrong input: ${z.prettifyError(parsed.error)}`);
      try {
        return await o.run(parsed.data, context);
      } catch (error) {
        if (error instanceof ToolError) return failure(error.message);
        const refusal = error instanceof Error && 'code' in error ? REFUSALS[String(error.code)] : undefined;
        if (refusal === undefined) throw error;
        return failure(refusal);
      }
    },
  };
}

export function failure(message: string): ToolResult {
  return { ok: false, output: message };
}
