import { createHash } from 'node:crypto';
import { taskFields } from '@hermes-fleet/protocol/ports';
import type { ToolSet } from 'ai';
import { contextOverflow } from '../messages/context-overflow.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { AgentTool, RunResources } from '../run/conversation.ts';
import { sentParameters, toolDefinitions } from '../run/tool.ts';
import { refusedTools } from '../tools/refused-tools.ts';
import { RequiredToolRefused, requiredServerOf } from '../tools/required-tools.ts';

/** How often a request is sent again without tools that were refused. */
const MAX_RESENT = 5;
/** A model remembers so many refused definitions; the oldest is tried again. */
const MAX_REMEMBERED = 1_000;

/** The tools of a conversation as they are sent: to each model without those that its provider refuses (docs/agent.md#definitions). */
export function createOfferedTools(
  tools: readonly AgentTool[],
  { model, task, log }: Pick<RunResources, 'model' | 'task' | 'log'>,
) {
  const { set } = toolDefinitions(tools);
  const keys = new Map(tools.map((tool) => [tool.name, keyOf(tool)]));

  const isSent = (name: string, { refusedTools: known }: AgentModel): boolean =>
    !known?.has(keys.get(name) ?? '') || requiredServerOf(name, task) !== undefined;

  const sentTo = (called: AgentModel): ToolSet =>
    Object.fromEntries(Object.entries(set).filter(([name]) => isSent(name, called)));

  /**
   * Remembers which tools the provider of `called` refuses by this error; false for any other error. Throws
   * RequiredToolRefused for a tool of a server that the dispatch requires.
   */
  function leaveOut(error: unknown, called: AgentModel): boolean {
    const { refusedTools: known, info } = called;
    if (known === undefined || contextOverflow(error) !== undefined) return false;
    const refused = refusedTools(error, Object.keys(sentTo(called)));
    if (refused.length === 0) return false;
    const reason = error instanceof Error ? error.message : String(error);
    for (const tool of refused) {
      const server = requiredServerOf(tool, task);
      if (server === undefined) continue;
      const detail = `${info.id} cannot use ${tool} of the required MCP server ${server}: ${reason}`;
      throw new RequiredToolRefused({ kind: 'mcp', name: server, detail, transient: false }, error);
    }
    for (const tool of refused) remember(known, keys.get(tool) ?? tool);
    const fields = { ...taskFields(task), model: info.id, tools: refused, reason };
    log.warn(fields, "tools are left out: the model's provider refuses their definitions");
    return true;
  }

  return {
    /** What `model` is sent, as text for token estimates. */
    json: toolDefinitions(tools.filter(({ name }) => isSent(name, model))).json,
    /**
     * Makes a call, which asks at each attempt for the tools of the model that it calls; again without those that are
     * refused, which later conversations leave out too. Throws the error of `call`, or RequiredToolRefused.
     */
    async send<T>(call: (toolsOf: (called: AgentModel) => ToolSet) => Promise<T>): Promise<T> {
      for (let resent = 0; ; resent += 1) {
        let last = model;
        const toolsOf = (called: AgentModel): ToolSet => {
          last = called;
          return sentTo(called);
        };
        try {
          return await call(toolsOf);
        } catch (error) {
          if (resent >= MAX_RESENT || !leaveOut(error, last)) throw error;
        }
      }
    },
  };
}

function remember(known: Set<string>, key: string): void {
  const [oldest] = known;
  if (oldest !== undefined && known.size >= MAX_REMEMBERED) known.delete(oldest);
  known.add(key);
}

const keyOf = ({ name, parameters }: AgentTool): string =>
  createHash('sha256')
    .update(`${name}\0${JSON.stringify(sentParameters(parameters))}`)
    .digest('hex');
