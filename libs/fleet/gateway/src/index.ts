export { createRegisteredAgents } from './a2a-tools/registered-agents.ts';
export { createA2ATools } from './a2a-tools/tools.ts';
export type { Finding } from './doctor/finding.ts';
export { createSubtaskDelegation } from './fleet-tools/delegate-subtask.ts';
export { peersSummary } from './fleet-tools/fleet-peers.ts';
export { createFleetTools } from './fleet-tools/fleet-tools.ts';
export {
  createPeerAgents,
  mergeRemoteAgents,
} from './fleet-tools/peer-agents.ts';
export type { SubtaskRunner } from './fleet-tools/subtask.ts';
export type { GatewayAgent, GatewayOptions } from './gateway-options.ts';
export { registerDrainRoute } from './joining/join-routes.ts';
export { registerFleetMcp } from './mcp/fleet-mcp.ts';
