import type { McpPool } from '@hermes-fleet/mcp';
import type { Announcer } from '@hermes-fleet/peers';
import type { McpHealth, ModelHealth } from '@hermes-fleet/protocol/handshake';
import type { ModelWatch } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';

export interface HealthWatchOptions {
  readonly mcp: Pick<McpPool, 'health' | 'onChange'>;
  /** Absent for a member without a model. */
  readonly model: { readonly id: string; readonly watch: ModelWatch } | undefined;
  readonly announcer: Pick<Announcer, 'changed'>;
  readonly metrics: Pick<FleetMetrics, 'read'>;
}

/** Announces changes of the health of the MCP servers and of the model, until it is disposed of; metrics show it. */
export function watchHealth({ mcp, model, announcer, metrics }: HealthWatchOptions) {
  const mcpHealth = (): Record<string, McpHealth> =>
    Object.fromEntries(Object.entries(mcp.health()).map(([name, { state }]) => [name, state]));
  metrics.read({
    fleet_mcp_server_up: () =>
      Object.entries(mcpHealth()).map(([server, state]) => [{ server }, state === 'ok']),
    fleet_model_healthy: () => (model ? [[{ model: model.id }, model.watch.health().state === 'ok']] : []),
  });
  const changed = (): void => announcer.changed();
  const watches = [mcp.onChange(changed), model?.watch.onChange(changed)];
  return {
    /** The health as an announce has it. */
    announced: (): { readonly mcpHealth: Record<string, McpHealth>; readonly modelHealth?: ModelHealth } => ({
      mcpHealth: mcpHealth(),
      ...(model && { modelHealth: model.watch.health().state }),
    }),
    [Symbol.dispose]: (): void => {
      for (const watch of watches) watch?.[Symbol.dispose]();
    },
  };
}
