export { declaredHandshake } from './announcing/agent-card.ts';
export {
  type AnnouncePublisher,
  type Announcer,
  createAnnouncer,
  recordAnnounce,
  recordAnnounceOf,
} from './announcing/announcer.ts';
export { createRepoWatch } from './announcing/repo-watch.ts';
export { createSelfAnnounce } from './announcing/self-announce.ts';
export { capacityOf } from './capacity.ts';
export {
  clockOffsetOf,
  isLive,
  isProsePeer,
  type PeerCard,
  type PeerProfile,
  takesProse,
} from './peer-profile.ts';
export { wellKnownCard } from './registry/peer-entry.ts';
export { createPeerHealth, type PeerHealth } from './registry/peer-health.ts';
export type { TaskAtPeer } from './registry/peer-load.ts';
export { createPeerRegistry, type PeerRegistry } from './registry/peer-registry.ts';
export { createWorkerDirectory, type WorkerDirectory } from './registry/worker-directory.ts';
export {
  exclusionReasons,
  NO_MODEL,
  type RoutingQuery,
  reasonInEvent,
  routingQuery,
  takesTasks,
} from './routing/eligibility.ts';
export { explainDispatch } from './routing/explain.ts';
export { measureBrief } from './routing/measure-brief.ts';
export { type RoutingPolicy, routingPolicy } from './routing/policy.ts';
export { type RoutingDecision, route } from './routing/route.ts';
export { type Excluded, namedUnmet } from './routing/unroutable.ts';
