import { defineTool, type Tool, ToolError } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { requireCallerScope } from '../tool-support/require-scope.ts';
import type { SubtaskRunner } from './subtask.ts';

/**
 * `fleet_discard`: deletes at a peer what subtasks of this task left there: briefs, results and files
 * (docs/agent.md#a2a-agents-and-peers). Only the context of the task's own subtasks can be deleted, so the tool takes no id.
 */
export function discardTool({ subtasks }: { readonly subtasks: () => SubtaskRunner }): Tool {
  return defineTool({
    name: 'fleet_discard',
    description:
      'Delete at a peer all that your fleet_send left there: briefs, results, files. For secrets, or work of no more use. What you need from there, get first.',
    inputSchema: z.strictObject({
      agent: z.string().min(1).max(200).describe("The peer's name"),
      results: z
        .enum(['keep', 'delete'])
        .default('keep')
        .describe('delete: also a branch with changes that are not merged'),
    }),
    mutates: true,
    // A context that is deleted already stays so.
    repeatable: true,
    // What an ignored key would have left alone must not be deleted.
    isStrict: true,
    async run({ agent, results }, { task, signal, stopping }) {
      requireCallerScope(task.caller, 'dispatch');
      const outcome = await subtasks().discard(task, agent, results, AbortSignal.any([signal, stopping]));
      if (!outcome) throw new ToolError(`nothing of this task was sent to ${agent} with fleet_send`);
      const { state, detail = '' } = outcome;
      if (state === 'pending') throw new ToolError(`it is not all deleted yet: ${detail}; try again later`);
      return { ok: state === 'deleted', output: { state, ...(detail ? { detail } : {}) }, detail: agent };
    },
  });
}
