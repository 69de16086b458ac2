import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { AgentTool } from '../run/conversation.ts';

/**
 * The tool with a definition of as few tokens as possible: the first sentence of its description, and of its parameters
 * those that it must have, without their limits. The tool itself still accepts the others, and checks all of them.
 */
export function shortDefinition(tool: AgentTool): AgentTool {
  const [sentence = ''] = /^[^.;]*/.exec(tool.description) ?? [];
  return { ...tool, description: `${sentence}.`, parameters: requiredOnly(tool) };
}

/** Parameters that one way of calling a tool needs, where another way needs others. */
const NEEDED: Readonly<Record<string, readonly string[]>> = { edit_file: ['path', 'old_text', 'new_text'] };

function requiredOnly({ name: tool, parameters: { properties, required } }: AgentTool): JsonObject {
  const fields = isJsonObject(properties) ? properties : {};
  const names: readonly JsonValue[] = NEEDED[tool] ?? (Array.isArray(required) ? required : []);
  const kept = Object.entries(fields).filter(([name]) => names.length === 0 || names.includes(name));
  return {
    type: 'object',
    properties: Object.fromEntries(kept.map(([name, field]) => [name, typeOnly(field)])),
    ...(names.length === 0 ? {} : { required: [...names] }),
  };
}

const typeOnly = (field: JsonValue): JsonObject =>
  isJsonObject(field) && field.type !== undefined ? { type: field.type } : {};
