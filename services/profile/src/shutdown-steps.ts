import type { OutboxPublisher } from '@hermes-fleet/events';
import {
  closeConnections,
  closeStores,
  flushAndClose,
  leaveRotation,
  type ServingMember,
} from '@hermes-fleet/gateway/member';
import type { Agent, ModelMonitor } from '@hermes-fleet/loop';
import type { McpPool } from '@hermes-fleet/mcp';
import type { ShutdownStep } from '@hermes-fleet/service';

/** Everything that a running profile has open. */
export interface Opened extends ServingMember {
  readonly bus: OutboxPublisher | undefined;
  readonly mcp: Pick<McpPool, 'close'>;
  readonly model: Pick<ModelMonitor, 'close'>;
  readonly agent: Pick<Agent, 'close'>;
}

/** The steps of a profile's shutdown, in order (docs/architecture.md). Tasks get `graceMs` to reach a checkpoint. */
export function shutdownSteps(opened: Opened, leave: () => void, graceMs: number): ShutdownStep[] {
  const { bus, mcp, model, agent, ledger, ownership, log } = opened;
  return [
    { name: 'leave rotation and stop tasks', run: () => leaveRotation(opened, leave, graceMs) },
    ...closeConnections(opened),
    { name: 'flush the outbox', run: () => flushAndClose([bus], log) },
    {
      name: 'close MCP servers, the agent and the probes of its model',
      run: async () => void (await Promise.all([mcp.close(), agent.close(), model.close()])),
    },
    { name: 'close the ledger', run: () => closeStores([ledger], ownership) },
  ];
}
