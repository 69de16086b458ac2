export { type FleetConfig, FleetConfigSchema } from './config/config.ts';
export {
  type ConfiguredPeer,
  type Credentials,
  callerNamed,
  MIN_TOKEN_LENGTH,
  resolveTokens,
  SHARED_CALLER,
} from './config/credentials.ts';
export { listenerUrl, normalizePeerUrl } from './config/peer-url.ts';
export { tierOf } from './config/tier.ts';
export { createGateway, type Gateway, type GatewayAgent, type GatewayOptions } from './gateway.ts';
export { type Announcer, type AnnouncerOptions, createAnnouncer } from './peers/announcer.ts';
export { createPeers, type Peers, type PeersOptions, type Recorded } from './peers/peers.ts';
export { isLive, type PeerProfile } from './peers/profile.ts';
export { type RoutingPolicy, routingPolicy } from './routing/policy.ts';
export { type Considered, type RoutingDecision, route } from './routing/route.ts';
export { type AdmissionFacts, type AdmissionRequest, admit } from './tasks/admission.ts';
