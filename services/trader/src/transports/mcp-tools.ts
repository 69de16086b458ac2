import type { Tool } from '@hermes-fleet/mcp/server';
import { type ControlMessage, controlSchemas } from '@hermes-fleet/protocol/control';

export const DECIDE_TOOL = 'apply_control_decision';
export const LIST_TOOL = 'list_strategies';
export const GET_TOOL = 'get_strategy';

const READ = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false };

/** The trader's tools in the form of tools/list. */
export function mcpTools(): Tool[] {
  const schemas = controlSchemas();
  const schema = (name: ControlMessage): Tool['inputSchema'] => {
    // A client's validator may not know this dialect or resolve this id.
    const { $schema: _dialect, $id: _name, title: _title, description: _text, ...rest } = schemas[name];
    return { ...rest, type: 'object' };
  };
  return [
    {
      name: DECIDE_TOOL,
      title: 'Apply a control decision',
      description:
        'The one write: switch the strategy of an account in a market, pause or resume it, or set its risk mode. ' +
        'Safe to send again: a decision_id is applied once. Answers with what became of it; a rejection changes ' +
        'nothing, and its errors say why. To keep things as they are, call nothing.',
      inputSchema: schema('control-decision'),
      outputSchema: schema('control-response'),
      annotations: {
        title: 'Apply a control decision',
        readOnlyHint: false,
        idempotentHint: true,
        destructiveHint: true,
        openWorldHint: false,
      },
    },
    {
      name: LIST_TOOL,
      title: 'List strategies',
      description: 'The strategies of your accounts: what they are, and which one is active where.',
      inputSchema: schema('list-strategies'),
      outputSchema: schema('strategy-list'),
      annotations: { title: 'List strategies', ...READ },
    },
    {
      name: GET_TOOL,
      title: 'Get a strategy',
      description:
        'One strategy with its control state, position, equity, orders, execution quality and last decisions.',
      inputSchema: schema('get-strategy'),
      outputSchema: schema('strategy-detail'),
      annotations: { title: 'Get a strategy', ...READ },
    },
  ];
}
