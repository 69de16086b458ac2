import { ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles, AnchoredFolder } from '@hermes-fleet/workspace';
import { z } from 'zod';

export const PROGRESS_FILE = 'PROGRESS.json';
export const MAX_PROGRESS_BYTES = 64 * 1024;
const MAX_SET_ASIDE = 20;

export const ProgressList = z.array(z.string().max(2000)).max(200);

const ProgressSchema = z.strictObject({
  accomplished: ProgressList.default([]),
  remaining: ProgressList.default([]),
  decisions: ProgressList.default([]),
  blockers: ProgressList.default([]),
});

/** State that an agent leaves for its next session (docs/agent.md#progress-scratchpad-memory). */
export type Progress = z.output<typeof ProgressSchema>;

export const NO_PROGRESS: Progress = { accomplished: [], remaining: [], decisions: [], blockers: [] };

/** The validated content of a progress file, or why it is invalid. */
export type FoundProgress =
  | { readonly kind: 'none' }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'invalid'; readonly problem: string };

/**
 * Reads the workspace's PROGRESS.json: at most 64 KiB, lists of at most 200 strings of at most 2,000 characters. A
 * symlink, a pipe or a huge file in its place is reported as invalid and never followed.
 */
export async function readProgress(files: AnchoredFiles): Promise<FoundProgress> {
  await using folder = await files.openFolder('.');
  return folder === undefined ? { kind: 'none' } : await readProgressIn(folder);
}

export async function readProgressIn(folder: AnchoredFolder): Promise<FoundProgress> {
  const invalid = (problem: string): FoundProgress => ({ kind: 'invalid', problem });
  let bytes: Buffer | undefined;
  try {
    bytes = await folder.read(PROGRESS_FILE, MAX_PROGRESS_BYTES);
  } catch (error) {
    if (error instanceof ToolError) return invalid(error.message);
    if (error instanceof Error && 'code' in error) return invalid(`it cannot be read (${error.code})`);
    throw error;
  }
  if (bytes === undefined) return { kind: 'none' };
  const json = parseJson(bytes);
  if (json === undefined) return invalid('it is not JSON in UTF-8');
  const parsed = ProgressSchema.safeParse(json);
  if (parsed.success) return { kind: 'progress', progress: parsed.data };
  return invalid(z.prettifyError(parsed.error).slice(0, 500));
}

/** Renames an invalid progress file to keep it; resolves with the new name. */
export async function setAside(folder: AnchoredFolder): Promise<string> {
  const taken = new Set((await folder.entries()).map(({ name }) => name));
  for (let n = 1; n <= MAX_SET_ASIDE; n += 1) {
    const name = `PROGRESS.invalid-${n}.json`;
    if (taken.has(name)) continue;
    await folder.rename(PROGRESS_FILE, name);
    return name;
  }
  throw new ToolError(
    `${PROGRESS_FILE} is invalid, and there are ${MAX_SET_ASIDE} of its kind already: remove PROGRESS.invalid-*.json`,
  );
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
