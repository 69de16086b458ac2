import type { GatewayAgent, GatewayOptions } from '@hermes-fleet/gateway';
import { NO_MODEL } from '@hermes-fleet/peers';
import { FleetError } from '@hermes-fleet/protocol';

/** The announced capabilities. They are methods for callers, not tools for tasks. */
const OFFERED: readonly string[] = ['apply_control_decision', 'list_strategies', 'get_strategy'];

/** The trader has no model and runs no tasks: its gateway blocks them before it asks an executor. */
export const NO_AGENT: GatewayAgent = {
  executor: {
    model: NO_MODEL,
    run: () => Promise.reject(new FleetError('UNSUPPORTED_OPERATION', 'the trader takes no tasks')),
  },
  capabilities: () => ({ tools: OFFERED }),
  repoState: async () => ({ branch: '', clean: true }),
  minimumBudget: 0,
};

/** The trader uses no MCP servers. */
export const NO_MCP: GatewayOptions['mcp'] = {
  names: () => [],
  health: () => ({}),
  probe: (name) => Promise.reject(new FleetError('NOT_FOUND', `there is no MCP server ${name}`)),
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
};
