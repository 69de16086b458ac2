import type { JsonValue } from '@hermes-fleet/protocol';
import { type ToolResult, toolFailure } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

/**
 * Claude Code's own tools, by the names of the agent's tools that they replace. Commands are not replaced: they run in
 * `shell_exec`, which confines each one, kills its process tree, and hides the session's key.
 */
const NATIVE: Readonly<Record<string, string>> = {
  read_file: 'Read',
  write_file: 'Write',
  edit_file: 'Edit',
  find_files: 'Glob',
  grep_files: 'Grep',
};

const AGENT_TOOLS: ReadonlyMap<string, string> = new Map(
  Object.entries(NATIVE).map(([tool, native]) => [native, tool]),
);

const CHANGES: ReadonlySet<string> = new Set(['write_file', 'edit_file']);
const SEARCHES: ReadonlySet<string> = new Set(['find_files', 'grep_files']);

/** The model's name for one of the agent's tools. */
export const nameInClaude = (tool: string): string => NATIVE[tool] ?? tool;

/** True when a tool of Claude Code replaces this one. */
export const isNative = (tool: string): boolean => tool in NATIVE;

/** A call of one of Claude Code's own tools, translated to the agent's tool. */
export interface NativeCall {
  readonly tool: string;
  readonly input: { readonly [key: string]: unknown };
  readonly mutates: boolean;
  /** The file or directory, as the model names it. */
  readonly path: string;
}

const Input = z.looseObject({
  file_path: z.string().optional(),
  path: z.string().optional(),
  pattern: z.string().optional(),
  content: z.string().optional(),
  old_string: z.string().optional(),
  new_string: z.string().optional(),
});

/** Reads a call of one of Claude Code's own tools; undefined for any other call. */
export function nativeCall(name: string, raw: unknown): NativeCall | undefined {
  const tool = AGENT_TOOLS.get(name);
  const parsed = Input.safeParse(raw);
  if (tool === undefined || !parsed.success) return undefined;
  const { file_path, path = file_path ?? '.', ...input } = parsed.data;
  // Claude Code ignores surrounding whitespace.
  const trimmed = path.trim() || '.';
  return { tool, input: { ...input, path: trimmed }, mutates: CHANGES.has(tool), path: trimmed };
}

const Response = z.looseObject({
  content: z.string().optional(),
  filenames: z.array(z.string()).optional(),
  file: z.looseObject({ content: z.string().optional() }).optional(),
});

/** Translates a response to a tool result. `path` is normalized, as in the results of the agent's tools. */
export function nativeResult(call: NativeCall, path: string, response: unknown): ToolResult {
  return { ok: true, output: outputOf(call, response), detail: detailOf(call, path) };
}

export const nativeFailure = (call: NativeCall, path: string, error: string): ToolResult => ({
  ...toolFailure(error),
  detail: detailOf(call, path),
});

/** The same detail that the agent's tool records: the guards read it in the journal. */
function detailOf({ tool, input }: NativeCall, path: string): string {
  return SEARCHES.has(tool) ? `${String(input.pattern ?? '')} in ${path}` : path;
}

function outputOf({ tool }: NativeCall, response: unknown): JsonValue {
  if (CHANGES.has(tool)) return '';
  const parsed = Response.safeParse(response);
  if (!parsed.success) return '';
  const { content, filenames, file } = parsed.data;
  return content || file?.content || (filenames ?? []).join('\n');
}

/** The response with the guards' text as its output, in the tool's own form; undefined when the response may stay. */
export function replacedResponse({ tool }: NativeCall, response: unknown, text: string): unknown {
  const shape = z.looseObject({}).safeParse(response);
  if (tool !== 'grep_files' || !shape.success) return undefined;
  return { ...shape.data, mode: 'content', content: text };
}
