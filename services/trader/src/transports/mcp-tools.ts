import type { Tool } from '@hermes-fleet/mcp/server';
import { type ControlMessage, controlSchemas } from '@hermes-fleet/protocol/control';

export const DECIDE_TOOL = 'apply_control_decision';
export const LIST_TOOL = 'list_strategies';
export const GET_TOOL = 'get_strategy';

const READ = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false };
const WRITE = { ...READ, readOnlyHint: false, destructiveHint: true };

/** The trader's tools in the form of tools/list. */
export function mcpTools(): Tool[] {
  const schemas = controlSchemas();
  const schema = (name: ControlMessage): Tool['inputSchema'] => {
    // A client's validator may not know this dialect or resolve this id.
    const { $schema: _dialect, $id: _name, title: _title, description: _text, ...rest } = schemas[name];
    return { ...rest, type: 'object' };
  };
  const tool = (
    name: string,
    title: string,
    description: string,
    {
      input,
      output,
      ...hints
    }: { readonly input: ControlMessage; readonly output: ControlMessage } & typeof READ,
  ): Tool => ({
    name,
    title,
    description,
    inputSchema: schema(input),
    outputSchema: schema(output),
    annotations: { title, ...hints },
  });
  return [
    tool(
      DECIDE_TOOL,
      'Apply a control decision',
      'The one write: switch the strategy of an account in a market, pause or resume it, or set its risk mode. ' +
        'Safe to send again: a decision_id is applied once. Answers with what became of it; a rejection changes ' +
        'nothing, and its errors say why. To keep things as they are, call nothing.',
      { input: 'control-decision', output: 'control-response', ...WRITE },
    ),
    tool(
      LIST_TOOL,
      'List strategies',
      'The strategies of your accounts: what they are, and which one is active where.',
      { input: 'list-strategies', output: 'strategy-list', ...READ },
    ),
    tool(
      GET_TOOL,
      'Get a strategy',
      'One strategy with its control state, position, equity, orders, execution quality and last decisions.',
      { input: 'get-strategy', output: 'strategy-detail', ...READ },
    ),
  ];
}
