import type { GatewayAgent, GatewayOptions } from '@hermes-fleet/fleet';
import { NO_MODEL } from '@hermes-fleet/peers';
import { FleetError } from '@hermes-fleet/protocol';

/** What callers find here: it is announced as this member's capabilities, and none of it is a tool for tasks. */
const OFFERED: readonly string[] = ['apply_control_decision', 'list_strategies', 'get_strategy'];

/** A trader thinks with no model and does no tasks: its gateway blocks every one before an executor is asked. */
export const NO_AGENT: GatewayAgent = {
  executor: {
    model: NO_MODEL,
    run: () => Promise.reject(new FleetError('UNSUPPORTED_OPERATION', 'the trader takes no tasks')),
  },
  capabilities: () => ({ tools: OFFERED }),
  repoState: async () => ({ branch: '', clean: true }),
  minimumBudget: 0,
};

/** It has no MCP servers of its own either. */
export const NO_MCP: GatewayOptions['mcp'] = {
  names: () => [],
  health: () => ({}),
  probe: (name) => Promise.reject(new FleetError('NOT_FOUND', `there is no MCP server ${name}`)),
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
};
