export { type ConsoleLink, newLink, rebuild } from './console/client.ts';
export { initKeys, type KeysOptions, type KeysSummary, tokenHash } from './keys/init.ts';
export { keySecrets } from './keys/kubernetes.ts';
export {
  DEFAULT_SERVICES,
  keyPaths,
  OPERATOR,
  PROFILES,
  SETUP,
  TRADER,
  tokenVariable,
} from './keys/layout.ts';
export type { NatsSettings } from './keys/nats-config.ts';
export { readOperatorToken } from './keys/operator-token.ts';
export { readSecret } from './keys/secret-file.ts';
export { fleetDown, type Stopped } from './local/down.ts';
export { type RunningProcess, runningProcess } from './local/pid-file.ts';
export {
  commandOf,
  type FleetPlan,
  memberEnv,
  type PlannedMember,
  type PlannedProfile,
  planFleet,
} from './local/plan.ts';
export { fleetStatus, type ProcessStatus } from './local/ps.ts';
export { fleetUp, type Outcome, type UpOptions } from './local/up.ts';
export { waitUntilSettled } from './quick-start/settled.ts';
export { renderWelcome, type Welcome } from './quick-start/welcome.ts';
