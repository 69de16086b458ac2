import { defineTool, type Tool } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { requireCallerScope } from '../tool-support/require-scope.ts';
import { type AgentClient, createAgentClient } from './agent-client.ts';
import type { A2AToolsOptions } from './directory.ts';
import { cardView } from './tool-results.ts';

const Id = z.string().min(1).max(256);
const AGENT = {
  name: z.string().min(1).max(64).optional().describe('of a registered agent'),
  url: z.string().min(1).max(2_000).optional().describe('base url of any other agent'),
};
const Message = z.strictObject({
  ...AGENT,
  message: z.string().min(1).max(200_000),
  context_id: Id.optional().describe('goes on in that context'),
  task_id: Id.optional().describe('answers that task'),
});

/**
 * The tools that call remote A2A agents (docs/agent.md#a2a-agents-and-peers): registered agents by name, others by URL
 * through the guarded fetch. The task's caller needs the scope `dispatch` for calls, and `read` or `dispatch` for the rest.
 * The model gets an agent's text truncated and tagged as data.
 */
export function createA2ATools(options: A2AToolsOptions): Tool[] {
  const client = createAgentClient(options);
  return [
    listTool(options),
    discoverTool(client),
    callTool(client, {
      name: 'a2a_call',
      description: 'Send a message to a remote agent (name or url) and return its answer.',
      inputSchema: Message.extend({
        blocking: z.boolean().default(true).describe('false: return the task id at once, see a2a_get_task'),
      }),
      streaming: false,
    }),
    callTool(client, {
      name: 'a2a_call_streaming',
      description: 'As a2a_call, for long work: your caller sees how it goes on.',
      inputSchema: Message,
      streaming: true,
    }),
    getTaskTool(client),
  ];
}

function listTool({ agents }: A2AToolsOptions): Tool {
  return defineTool({
    name: 'a2a_list',
    description: 'List the registered remote agents.',
    mutates: false,
    inputSchema: z.strictObject({}),
    async run(_input, { task }) {
      requireCallerScope(task.caller, 'read', 'dispatch');
      const output = Object.entries(agents).map(([name, { url, description }]) => ({
        name,
        url,
        description,
      }));
      return { ok: true, output };
    },
  });
}

function discoverTool(client: AgentClient): Tool {
  return defineTool({
    name: 'a2a_discover',
    description: "Read a remote agent's card: what it is and can do. Give name or url.",
    mutates: false,
    inputSchema: z.strictObject(AGENT),
    async run(agent, { task, signal }) {
      requireCallerScope(task.caller, 'read', 'dispatch');
      const found = await client.findAgent(agent, signal);
      return { ok: true, output: cardView(found), detail: found.label };
    },
  });
}

function callTool(
  client: AgentClient,
  {
    streaming,
    ...tool
  }: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: z.ZodType<z.output<typeof Message> & { readonly blocking?: boolean }>;
    readonly streaming: boolean;
  },
): Tool {
  return defineTool({
    ...tool,
    mutates: true,
    repeatable: true,
    async run({ name, url, message: text, context_id: contextId, task_id: taskId, blocking = true }, call) {
      requireCallerScope(call.task.caller, 'dispatch');
      const outgoing = { text, contextId, taskId, blocking, streaming };
      return client.send({ tool: tool.name, agent: { name, url }, ...outgoing }, call);
    },
  });
}

function getTaskTool(client: AgentClient): Tool {
  return defineTool({
    name: 'a2a_get_task',
    description: "Read a remote agent's task: its state, and its answer once it is over.",
    mutates: false,
    inputSchema: z.strictObject({ ...AGENT, task_id: Id }),
    async run({ name, url, task_id }, call) {
      requireCallerScope(call.task.caller, 'read', 'dispatch');
      return client.getTask({ name, url }, task_id, call);
    },
  });
}
