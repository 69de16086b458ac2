import { type JsonValue, type ToolResult, toolFailure } from '@hermes-fleet/protocol';
import { z } from 'zod';

/**
 * What Claude Code does itself, by the names of our own tools for the same: those are not offered beside it. Commands are
 * not among it: they go through our own `shell_exec`, each confined and killed whole, and without the session's key.
 */
const NATIVE: Readonly<Record<string, string>> = {
  read_file: 'Read',
  write_file: 'Write',
  edit_file: 'Edit',
  find_files: 'Glob',
  grep_files: 'Grep',
};

const OURS: ReadonlyMap<string, string> = new Map(
  Object.entries(NATIVE).map(([ours, native]) => [native, ours]),
);

const CHANGES: ReadonlySet<string> = new Set(['write_file', 'edit_file']);
const SEARCHES: ReadonlySet<string> = new Set(['find_files', 'grep_files']);

/** The name that the model knows a tool of ours by. */
export const nameInClaude = (tool: string): string => NATIVE[tool] ?? tool;

/** Whether Claude Code brings its own tool for what one of ours does. */
export const isNative = (tool: string): boolean => tool in NATIVE;

/** A call of one of Claude Code's own tools, in the terms of ours. */
export interface NativeCall {
  readonly tool: string;
  readonly input: { readonly [key: string]: unknown };
  readonly mutates: boolean;
  /** The file or directory that it is about, as the model names it. */
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

/** Reads a call of one of Claude Code's own tools; undefined when it is none that was offered. */
export function nativeCall(name: string, raw: unknown): NativeCall | undefined {
  const tool = OURS.get(name);
  const parsed = Input.safeParse(raw);
  if (tool === undefined || !parsed.success) return undefined;
  const { file_path, path = file_path ?? '.', ...input } = parsed.data;
  // Claude Code does not see what stands around it.
  const place = path.trim() || '.';
  return { tool, input: { ...input, path: place }, mutates: CHANGES.has(tool), path: place };
}

const Found = z.looseObject({
  content: z.string().optional(),
  filenames: z.array(z.string()).optional(),
  file: z.looseObject({ content: z.string().optional() }).optional(),
});

/** What a call came to. `path` as our tools write it; `response` is Claude Code's own, of that tool's shape. */
export function nativeResult(call: NativeCall, path: string, response: unknown): ToolResult {
  return { ok: true, output: outputOf(call, response), detail: detailOf(call, path) };
}

export const nativeFailure = (call: NativeCall, path: string, error: string): ToolResult => ({
  ...toolFailure(error),
  detail: detailOf(call, path),
});

/** As our own tools say what they were about: the journal is read by that. */
function detailOf({ tool, input }: NativeCall, path: string): string {
  return SEARCHES.has(tool) ? `${String(input.pattern ?? '')} in ${path}` : path;
}

function outputOf({ tool }: NativeCall, response: unknown): JsonValue {
  if (CHANGES.has(tool)) return '';
  const found = Found.safeParse(response);
  if (!found.success) return '';
  const { content, filenames, file } = found.data;
  return content || file?.content || (filenames ?? []).join('\n');
}

/**
 * What stands in for a tool's output, in that tool's own shape; undefined where it may stay. `text` is what the guards
 * made of it.
 */
export function replacedOutput({ tool }: NativeCall, response: unknown, text: string): unknown {
  const shape = z.looseObject({}).safeParse(response);
  if (tool !== 'grep_files' || !shape.success) return undefined;
  return { ...shape.data, mode: 'content', content: text };
}
