import type { JsonObject } from '@hermes-fleet/protocol';
import { ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles, AnchoredFolder } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';

/** `progress_read` and `progress_update` keep progress across sessions (docs/agent.md#progress-scratchpad-memory). */
export function progressTools(): AgentTool[] {
  return [readTool(), updateTool()];
}

function readTool(): AgentTool {
  return defineFileTool({
    name: 'progress_read',
    description: `Read ${PROGRESS_FILE}: what earlier sessions left.`,
    mutates: false,
    inputSchema: z.strictObject({}),
    async run(_input, { files }) {
      const found = await readProgress(files);
      if (found.kind === 'none') return { ok: true, output: 'there is none yet', detail: PROGRESS_FILE };
      if (found.kind === 'progress') return { ok: true, output: found.progress, detail: PROGRESS_FILE };
      const problem = `${PROGRESS_FILE} is invalid: ${found.problem}. progress_update keeps it aside and begins a new one.`;
      return { ok: false, output: problem, detail: PROGRESS_FILE };
    },
  });
}

function updateTool(): AgentTool {
  return defineFileTool({
    name: 'progress_update',
    description: `Update ${PROGRESS_FILE}. A list that is given replaces the one there; the others stay.`,
    mutates: true,
    repeatable: true,
    inputSchema: z.strictObject({
      accomplished: ProgressList.optional(),
      remaining: ProgressList.optional(),
      decisions: ProgressList.optional(),
      blockers: ProgressList.optional(),
    }),
    async run(input, { files }) {
      await using folder = await files.openFolder('.');
      if (folder === undefined) throw new ToolError('the workspace no longer exists');
      const found = await readProgressIn(folder);
      const before = found.kind === 'progress' ? found.progress : {};
      const progress = ProgressSchema.parse({ ...before, ...input });
      const bytes = Buffer.from(`${JSON.stringify(progress, undefined, 2)}\n`);
      if (bytes.length > MAX_PROGRESS_BYTES)
        throw new ToolError(
          `${PROGRESS_FILE} may have at most ${MAX_PROGRESS_BYTES} bytes: shorten the lists`,
        );
      const kept = found.kind === 'invalid' ? await setAside(folder) : undefined;
      await folder.write(PROGRESS_FILE, bytes);
      const output: JsonObject = {};
      for (const [name, list] of Object.entries(progress)) output[name] = list.length;
      if (found.kind === 'invalid' && kept !== undefined)
        output.note = `the file there was invalid (${found.problem}); it is kept as ${kept}`;
      return { ok: true, output, detail: PROGRESS_FILE };
    },
  });
}

export const PROGRESS_FILE = 'PROGRESS.json';
const MAX_PROGRESS_BYTES = 64 * 1024;
const MAX_SET_ASIDE = 20;

const ProgressList = z.array(z.string().max(2000)).max(200);

const ProgressSchema = z.strictObject({
  accomplished: ProgressList.default([]),
  remaining: ProgressList.default([]),
  decisions: ProgressList.default([]),
  blockers: ProgressList.default([]),
});

/** State that an agent leaves for its next session (docs/agent.md#progress-scratchpad-memory). */
export type Progress = z.output<typeof ProgressSchema>;

/** The validated content of a progress file, or why it is invalid. */
type FoundProgress =
  | { readonly kind: 'none' }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'invalid'; readonly problem: string };

/** Reads PROGRESS.json, which is never followed, and invalid when it is a link, a pipe, huge or of another form. */
export async function readProgress(files: AnchoredFiles): Promise<FoundProgress> {
  await using folder = await files.openFolder('.');
  return folder === undefined ? { kind: 'none' } : await readProgressIn(folder);
}

async function readProgressIn(folder: AnchoredFolder): Promise<FoundProgress> {
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
