import { jsonSchema, type ToolSet, tool } from 'ai';
import type { AgentTool } from './conversation.ts';

/** Tools as the model is told of them: for the SDK, and as text for estimates. None can be executed by the SDK. */
export function toolDefinitions(tools: readonly AgentTool[]): { set: ToolSet; json: string } {
  const set: ToolSet = {};
  const described = tools.map(({ name, description, parameters }) => {
    // Input is checked when a tool runs, so that a wrong one becomes a result like any other.
    set[name] = tool({ description, inputSchema: jsonSchema(parameters) });
    return { name, description, parameters };
  });
  return { set, json: JSON.stringify(described) };
}
