import { defineTool, type Tool, type ToolCall, type ToolDefinition, ToolError } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import type { JournalEntry } from '../loop/run-state.ts';
import type { Talk, TalkOptions } from '../loop/talk.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AnchoredFiles } from './anchored-path.ts';

/** What one call of an agent's own tool works with. */
export interface ToolContext extends ToolCall {
  readonly workspace: Workspace;
  readonly files: AnchoredFiles;
  /** The conversation that called. */
  readonly conversation: Conversation;
  /** A conversation inside this run: its budget, its workspace, its checkpoint (by the call's memo). */
  converse(options: Omit<TalkOptions, 'key'>): Talk;
}

/** What a tool may know of the conversation that calls it, and do to it. */
export interface Conversation {
  /** What it was offered. */
  readonly tools: readonly AgentTool[];
  /** The estimate of what its next step sends. */
  inputTokens(): Promise<number>;
  /**
   * Puts what was done on its behalf into its journal, ahead of the call itself: evidence, and writes that it has to
   * verify. Durable with the call's result.
   */
  record(entries: readonly JournalEntry[]): void;
}

/** A tool as the loop sees it; one that is offered from outside (`Tool<ToolCall>`) is one too. */
export type AgentTool = Tool<ToolContext>;

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
