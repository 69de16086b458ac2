export type { A2AToolsOptions, RegisteredAgent } from './a2a-tools/directory.ts';
export { createRegisteredAgents } from './a2a-tools/registered-agents.ts';
export { createA2ATools } from './a2a-tools/tools.ts';
export type { AgentContexts } from './contexts/agent-contexts.ts';
export { type ExamineOptions, examineFleet } from './doctor/examine.ts';
export { examineSpending } from './doctor/examine-spending.ts';
export type { Finding } from './doctor/finding.ts';
export {
  createSubtaskDelegation,
  type DelegateSubtask,
  type SubtaskDelegationOptions,
} from './fleet-tools/delegate-subtask.ts';
export { peersSummary } from './fleet-tools/fleet-peers.ts';
export { createFleetTools, type FleetToolsOptions } from './fleet-tools/fleet-tools.ts';
export {
  createPeerAgents,
  mergeRemoteAgents,
} from './fleet-tools/peer-agents.ts';
export type { SubtaskRunner } from './fleet-tools/subtask.ts';
export { createGateway, type Gateway, type GatewayOptions } from './gateway.ts';
export type { GatewayAgent } from './gateway-agent.ts';
export { type CallerViewOptions, callerView } from './http/caller-view.ts';
export { type FleetRoutesOptions, registerFleetRoutes } from './http/routes.ts';
export { registerDrainRoute } from './joining/drain-routes.ts';
export { registerJoinRoutes } from './joining/join-routes.ts';
export { createJoining, type Joining } from './joining/joining.ts';
export { type FleetMcpOptions, registerFleetMcp } from './mcp/fleet-mcp.ts';
