import { createHash } from 'node:crypto';
import { taskFields } from '@hermes-fleet/protocol/ports';
import { contextOverflow } from '../model/call/context-overflow.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { AgentTool, RunResources } from '../run/conversation.ts';
import { sentParameters, toolDefinitions } from '../run/tool.ts';
import { refusedTools } from '../tools/refused-tools.ts';
import { RequiredToolRefused, requiredServerOf } from '../tools/required-tools.ts';

/** A model remembers so many refused definitions; the oldest is tried again. */
const MAX_REMEMBERED = 1_000;

/** The tools of a conversation as they are sent, without those that the model's provider refuses (docs/agent.md#definitions). */
export function createOfferedTools(
  tools: readonly AgentTool[],
  { model, task, log }: Pick<RunResources, 'model' | 'task' | 'log'>,
) {
  let offered = tools.filter(
    (tool) => !model.refusedTools?.has(keyOf(tool)) || requiredServerOf(tool.name, task) !== undefined,
  );
  let definitions = toolDefinitions(offered);
  return {
    definitions: () => definitions,
    /**
     * Leaves out the tools whose definitions the provider of `called` refuses by this error, also of later conversations;
     * false for any other error. Throws RequiredToolRefused for a tool of a server that the dispatch requires.
     */
    leaveOut(error: unknown, called: AgentModel): boolean {
      if (contextOverflow(error) !== undefined) return false;
      const names = offered.map(({ name }) => name);
      const refused = new Set(refusedTools(error, names));
      if (refused.size === 0) return false;
      const reason = error instanceof Error ? error.message : String(error);
      for (const tool of refused) {
        const server = requiredServerOf(tool, task);
        if (server === undefined) continue;
        const detail = `${called.info.id} cannot use ${tool} of the required MCP server ${server}: ${reason}`;
        throw new RequiredToolRefused({ kind: 'mcp', name: server, detail, transient: false }, error);
      }
      for (const tool of offered) if (refused.has(tool.name)) remember(called, keyOf(tool));
      offered = offered.filter(({ name }) => !refused.has(name));
      definitions = toolDefinitions(offered);
      const fields = { ...taskFields(task), model: called.info.id, tools: [...refused], reason };
      log.warn(fields, "tools are left out: the model's provider refuses their definitions");
      return true;
    },
  };
}

function remember({ refusedTools: known }: AgentModel, key: string): void {
  const [oldest] = known ?? [];
  if (known !== undefined && oldest !== undefined && known.size >= MAX_REMEMBERED) known.delete(oldest);
  known?.add(key);
}

const keyOf = ({ name, parameters }: AgentTool): string =>
  createHash('sha256')
    .update(`${name}\0${JSON.stringify(sentParameters(parameters))}`)
    .digest('hex');
