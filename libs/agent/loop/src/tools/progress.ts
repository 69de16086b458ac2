import type { JsonObject } from '@hermes-fleet/protocol';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import {
  MAX_PROGRESS_BYTES,
  NO_PROGRESS,
  PROGRESS_FILE,
  type Progress,
  ProgressList,
  readProgress,
  readProgressIn,
  setAside,
} from './progress-file.ts';

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
      const progress = merged(found.kind === 'progress' ? found.progress : NO_PROGRESS, input);
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

const merged = (before: Progress, given: { [K in keyof Progress]?: string[] | undefined }): Progress => ({
  accomplished: given.accomplished ?? before.accomplished,
  remaining: given.remaining ?? before.remaining,
  decisions: given.decisions ?? before.decisions,
  blockers: given.blockers ?? before.blockers,
});
