export {
  acceptedVariables,
  type ConfiguredPeer,
  type Credentials,
  callerNamed,
  resolveTokens,
  SHARED_CALLER,
} from './credentials.ts';
export { allowedEndpoint, endpointPatternProblem } from './endpoint-pattern.ts';
export { type FleetConfig, FleetConfigSchema } from './fleet-yaml.ts';
export type { JoinedWorker, JoinPolicy } from './join-policy.ts';
export { isPeerName, matchesName } from './name-pattern.ts';
export {
  isLoopback,
  listenerUrl,
  normalizePeerUrl,
  peerUrlKey,
  samePeerUrl,
  withAdvertisedPath,
} from './peer-url.ts';
export { tierOf } from './tier.ts';
export { tokenProblems } from './token.ts';
