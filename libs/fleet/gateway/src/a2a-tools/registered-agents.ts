import { PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import { type RemoteAgents, ToolError } from '@hermes-fleet/protocol/ports';
import { renderDispatchText } from '@hermes-fleet/protocol/prose';
import { requireCallerScope } from '../tool-support/require-scope.ts';
import { messageIdOf } from './agent-call.ts';
import { createAgentClient } from './agent-client.ts';
import type { A2AToolsOptions } from './directory.ts';

/**
 * The registered agents that `delegate` offers (docs/agent.md#sub-agents). A brief goes as a contract in prose, with a
 * slice of the budget and the task's deadline, and asks for a TASK_RESULT, whose tokens are booked.
 */
export function createRegisteredAgents(options: A2AToolsOptions): RemoteAgents {
  const client = createAgentClient(options);
  return {
    list: () => Object.entries(options.agents).map(([name, { description }]) => ({ name, description })),
    async send(name, { brief, tokenBudget }, call) {
      requireCallerScope(call.task.caller, 'dispatch');
      if (!Object.hasOwn(options.agents, name)) throw new ToolError(`no agent is registered as ${name}`);
      const { priority, rootId } = call.task.dispatch.task;
      const { deadline } = call.task.dispatch;
      const text = renderDispatchText({
        type: 'TASK_DISPATCH',
        protocolVersion: PROTOCOL_VERSION,
        task: { taskId: messageIdOf(call), priority, rootId, tokenBudget },
        brief,
        deadline,
      });
      const outgoing = { text, blocking: true, streaming: false };
      return client.send({ tool: 'delegate', agent: { name }, ...outgoing }, call);
    },
  };
}
