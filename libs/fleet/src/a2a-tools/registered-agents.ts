import { renderDispatchText } from '@hermes-fleet/prose';
import { PROTOCOL_VERSION, type RemoteAgents, ToolError } from '@hermes-fleet/protocol';
import { needScope } from '../fleet-tools/scope.ts';
import { createConversation } from './conversation.ts';
import { messageIdOf } from './memo.ts';
import type { A2AToolsOptions } from './options.ts';

/**
 * The registered agents behind `delegate` (design 3, Sub-agents): a brief goes as a contract in prose, with its slice of
 * the budget and the task's deadline, and asks for a TASK_RESULT, whose spending is counted.
 */
export function createRegisteredAgents(o: A2AToolsOptions): RemoteAgents {
  const conversation = createConversation(o);
  return {
    list: () => Object.entries(o.agents).map(([name, { description }]) => ({ name, description })),
    async send(name, { brief, tokenBudget }, call) {
      needScope(call.task.caller, 'dispatch');
      if (!Object.hasOwn(o.agents, name)) throw new ToolError(`no agent is registered as ${name}`);
      const { priority, rootId } = call.task.dispatch.task;
      const { deadline } = call.task.dispatch;
      const text = renderDispatchText({
        type: 'TASK_DISPATCH',
        protocolVersion: PROTOCOL_VERSION,
        task: {
          taskId: messageIdOf(call),
          ...(priority === undefined ? {} : { priority }),
          ...(rootId === undefined ? {} : { rootId }),
          ...(tokenBudget === undefined ? {} : { tokenBudget }),
        },
        brief,
        ...(deadline === undefined ? {} : { deadline }),
      });
      const outgoing = { text, blocking: true, streaming: false };
      return conversation.say({ tool: 'delegate', agent: { name }, ...outgoing }, call);
    },
  };
}
