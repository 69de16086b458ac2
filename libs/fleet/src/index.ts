export type { A2AToolsOptions, RegisteredAgent } from './a2a-tools/options.ts';
export { createRegisteredAgents } from './a2a-tools/registered-agents.ts';
export { createA2ATools } from './a2a-tools/tools.ts';
export { type FleetConfig, FleetConfigSchema } from './config/config.ts';
export {
  acceptedVariables,
  type ConfiguredPeer,
  type Credentials,
  callerNamed,
  resolveTokens,
  SHARED_CALLER,
} from './config/credentials.ts';
export type { JoinPolicy } from './config/join-policy.ts';
export { listenerUrl, normalizePeerUrl } from './config/peer-url.ts';
export { tierOf } from './config/tier.ts';
export { MIN_TOKEN_LENGTH } from './config/token.ts';
export { tokenProblems } from './config/token-problems.ts';
export { type ExamineOptions, examineFleet } from './doctor/examine.ts';
export type { Finding } from './doctor/finding.ts';
export { createFleetTools, type FleetToolsOptions } from './fleet-tools/fleet-tools.ts';
export { createHandOver, type HandOver, type HandOverOptions } from './fleet-tools/hand-over.ts';
export type { PeerWork } from './fleet-tools/peer-work.ts';
export { peersSummary } from './fleet-tools/peers-summary.ts';
export { createFleetRemotes, joinRemotes } from './fleet-tools/remotes.ts';
export { createGateway, type Gateway, type GatewayAgent, type GatewayOptions } from './gateway.ts';
export { type FleetRoutesOptions, registerFleetRoutes } from './http/routes.ts';
export {
  type AnnounceOutlet,
  type Announcer,
  type AnnouncerOptions,
  createAnnouncer,
  learn,
} from './peers/announcer.ts';
export { createPeers, type Peers, type PeersOptions, type Recorded } from './peers/peers.ts';
export { isLive, type PeerProfile } from './peers/profile.ts';
export { renderDispatchText } from './prose/render.ts';
export { NO_MODEL } from './routing/exclusion.ts';
export { type RoutingPolicy, routingPolicy } from './routing/policy.ts';
export { type Considered, type RoutingDecision, route } from './routing/route.ts';
export { type AdmissionFacts, type AdmissionRequest, admit } from './tasks/admission.ts';
