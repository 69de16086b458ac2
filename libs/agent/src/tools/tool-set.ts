import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { jsonSchema, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import type { AgentTool } from './tool.ts';

/** Tools as the model is told of them: for the SDK, and as text for estimates. None can be executed by the SDK. */
export function toolDefinitions(tools: readonly AgentTool[]): { set: ToolSet; json: string } {
  const set: ToolSet = {};
  const described = tools.map(({ name, description, inputSchema }) => {
    const parameters = concise(z.record(z.string(), z.json()).parse(z.toJSONSchema(inputSchema)));
    // Input is checked when a tool runs, so that a wrong one becomes a result like any other.
    set[name] = tool({ description, inputSchema: jsonSchema(parameters) });
    return { name, description, parameters };
  });
  return { set, json: JSON.stringify(described) };
}

/** A schema without what no model needs to know: it is paid for at every step. */
function concise({ $schema: _dialect, properties = {}, ...schema }: JsonObject): JsonObject {
  const kept = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    if (!isJsonObject(property) || property.maximum !== Number.MAX_SAFE_INTEGER) return [name, property];
    const { maximum: _unbounded, ...rest } = property;
    return [name, rest];
  });
  return { ...schema, properties: Object.fromEntries(kept) };
}
