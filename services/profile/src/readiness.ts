import type { Relay } from '@hermes-fleet/events';
import type { Ledger } from '@hermes-fleet/ledger';
import type { McpPool } from '@hermes-fleet/mcp';
import type { Readiness } from '@hermes-fleet/service';

type State = Readiness['dependencies'][string];

/**
 * What a gateway needs to do its work. Without its ledger it can promise nothing; a broker or an MCP server that is
 * away degrades it (design 5, Containers).
 */
export function readinessOf(o: {
  readonly ledger: Ledger;
  readonly bus: Relay | undefined;
  readonly mcp: McpPool;
  readonly stopping: boolean;
}): Readiness {
  const problem = o.ledger.problem();
  const dependencies: Record<string, State> = {
    ledger: problem === undefined ? { state: 'ok' } : { state: 'down', detail: problem },
  };
  if (o.bus) {
    const { connected, lastError } = o.bus.state();
    dependencies.nats = connected
      ? { state: 'ok' }
      : { state: 'degraded', detail: lastError ?? 'not connected yet: events wait in the outbox' };
  }
  for (const [name, { state, detail }] of Object.entries(o.mcp.health())) {
    if (state === 'disabled') continue;
    dependencies[`mcp:${name}`] =
      state === 'ok' ? { state: 'ok' } : { state: 'degraded', detail: `${state}: ${detail}` };
  }
  if (o.stopping) dependencies.gateway = { state: 'down', detail: 'stopping' };
  return { ready: problem === undefined && !o.stopping, dependencies };
}
