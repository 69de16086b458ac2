import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Ledger } from '@hermes-fleet/ledger';
import type { McpPool } from '@hermes-fleet/mcp';
import { busState, type DependencyState, readinessFrom, storeState } from '@hermes-fleet/member';
import type { Readiness } from '@hermes-fleet/service';

/**
 * What a gateway needs to do its work. Without its ledger it can promise nothing; a broker or an MCP server that is
 * away degrades it (design 5, Containers).
 */
export function readinessOf(o: {
  readonly ledger: Ledger;
  readonly bus: OutboxPublisher | undefined;
  readonly mcp: McpPool;
  readonly stopping: boolean;
}): Readiness {
  const dependencies: Record<string, DependencyState> = { ledger: storeState(o.ledger.problem()) };
  if (o.bus) dependencies.nats = busState(o.bus.state());
  for (const [name, { state, detail }] of Object.entries(o.mcp.health())) {
    if (state === 'disabled') continue;
    dependencies[`mcp:${name}`] =
      state === 'ok' ? { state: 'ok' } : { state: 'degraded', detail: `${state}: ${detail}` };
  }
  if (o.stopping) dependencies.gateway = { state: 'down', detail: 'stopping' };
  return readinessFrom(dependencies);
}
