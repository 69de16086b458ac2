import { defineTool, type Tool } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { needScope } from '../fleet-tools/scope.ts';
import { type Conversation, createConversation } from './conversation.ts';
import { discovered } from './discovered.ts';
import type { A2AToolsOptions } from './options.ts';

const Id = z.string().min(1).max(256);
const AGENT = {
  name: z.string().min(1).max(64).optional().describe('of a registered agent'),
  url: z.string().min(1).max(2_000).optional().describe('base url of any other agent'),
};
const MESSAGE = {
  ...AGENT,
  message: z.string().min(1).max(200_000),
  context_id: Id.optional().describe('goes on in that context'),
  task_id: Id.optional().describe('answers that task'),
};

/**
 * The tools that call remote A2A agents (design 3, Tools): registered ones by name, any other by its url through the
 * guarded fetch. Calls need the scope `dispatch` of the task's caller, the rest `read` or `dispatch`. What an agent says
 * is data: cut to size and tagged.
 */
export function createA2ATools(o: A2AToolsOptions): Tool[] {
  const conversation = createConversation(o);
  return [
    listTool(o),
    discoverTool(conversation),
    callTool(conversation),
    streamingTool(conversation),
    getTaskTool(conversation),
  ];
}

function listTool({ agents }: A2AToolsOptions): Tool {
  return defineTool({
    name: 'a2a_list',
    description: 'List the registered remote agents.',
    mutates: false,
    inputSchema: z.strictObject({}),
    async run(_input, { task }) {
      needScope(task.caller, 'read', 'dispatch');
      const listed = Object.entries(agents).map(([name, { url, description }]) => ({
        name,
        url,
        description,
      }));
      return { ok: true, output: listed };
    },
  });
}

function discoverTool(conversation: Conversation): Tool {
  return defineTool({
    name: 'a2a_discover',
    description: "Read a remote agent's card: what it is and can do. Give name or url.",
    mutates: false,
    inputSchema: z.strictObject(AGENT),
    async run(agent, { task, signal }) {
      needScope(task.caller, 'read', 'dispatch');
      const found = await conversation.find(agent, signal);
      return { ok: true, output: discovered(found), detail: found.label };
    },
  });
}

function callTool(conversation: Conversation): Tool {
  return defineTool({
    name: 'a2a_call',
    description: 'Send a message to a remote agent (name or url) and return its answer.',
    mutates: true,
    repeatable: true,
    inputSchema: z.strictObject({
      ...MESSAGE,
      blocking: z.boolean().default(true).describe('false: return the task id at once, see a2a_get_task'),
    }),
    async run({ name, url, message, context_id, task_id, blocking }, call) {
      needScope(call.task.caller, 'dispatch');
      const outgoing = { text: message, contextId: context_id, taskId: task_id, blocking, streaming: false };
      return conversation.say({ tool: 'a2a_call', agent: { name, url }, ...outgoing }, call);
    },
  });
}

function streamingTool(conversation: Conversation): Tool {
  return defineTool({
    name: 'a2a_call_streaming',
    description: 'As a2a_call, for long work: your caller sees how it goes on.',
    mutates: true,
    repeatable: true,
    inputSchema: z.strictObject(MESSAGE),
    async run({ name, url, message, context_id, task_id }, call) {
      needScope(call.task.caller, 'dispatch');
      const outgoing = {
        text: message,
        contextId: context_id,
        taskId: task_id,
        blocking: true,
        streaming: true,
      };
      return conversation.say({ tool: 'a2a_call_streaming', agent: { name, url }, ...outgoing }, call);
    },
  });
}

function getTaskTool(conversation: Conversation): Tool {
  return defineTool({
    name: 'a2a_get_task',
    description: "Read a remote agent's task: its state, and its answer once it is over.",
    mutates: false,
    inputSchema: z.strictObject({ ...AGENT, task_id: Id }),
    async run({ name, url, task_id }, call) {
      needScope(call.task.caller, 'read', 'dispatch');
      return conversation.look({ name, url }, task_id, call);
    },
  });
}
