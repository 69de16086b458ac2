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
  readonly metrics: Pick<FleetMetrics, 'mcpServerUp' | 'modelHealthy'>;
}

/** Reports changes of the health of the MCP servers and of the model in metrics and announces, until it is disposed of. */
export interface HealthWatch extends Disposable {
  /** Sets every gauge to what is known now, and announces. */
  report(): void;
  /** The health as an announce has it. */
  announced(): {
    readonly mcpHealth: Readonly<Record<string, McpHealth>>;
    readonly modelHealth?: ModelHealth;
  };
}

export function watchHealth({ mcp, model, announcer, metrics }: HealthWatchOptions): HealthWatch {
  const mcpHealth = (): Record<string, McpHealth> =>
    Object.fromEntries(Object.entries(mcp.health()).map(([name, { state }]) => [name, state]));
  function report(): void {
    for (const [name, state] of Object.entries(mcpHealth())) metrics.mcpServerUp(name, state === 'ok');
    if (model) metrics.modelHealthy(model.id, model.watch.health().state === 'ok');
    announcer.changed();
  }
  const watches = [mcp.onChange(report), model?.watch.onChange(report)];
  return {
    report,
    announced: () => ({
      mcpHealth: mcpHealth(),
      ...(model && { modelHealth: model.watch.health().state }),
    }),
    [Symbol.dispose]: () => {
      for (const watch of watches) watch?.[Symbol.dispose]();
    },
  };
}
