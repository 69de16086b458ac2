import type { PeerRegistry } from '@hermes-fleet/peers';
import type { Clock, Tool } from '@hermes-fleet/protocol';
import { peersTool } from './fleet-peers.ts';
import { routeTool } from './fleet-route.ts';
import { sendTool } from './fleet-send.ts';
import type { HandOver } from './hand-over.ts';
import type { PeerWork } from './peer-work.ts';

export interface FleetToolsOptions {
  readonly profile: string;
  readonly peers: Pick<PeerRegistry, 'list'>;
  /** Asked at each call: the gateway is put together after its agent. */
  readonly work: () => PeerWork;
  readonly handOver: HandOver;
  readonly clock: Clock;
}

/**
 * The tools with which an agent uses its fleet (design 3, Tools): who is there, where work would go, and having a peer do
 * it. They need the scope `dispatch` of the task's caller; to look, `read` is enough.
 */
export function createFleetTools(o: FleetToolsOptions): Tool[] {
  return [peersTool(o), routeTool(o), sendTool(o)];
}
