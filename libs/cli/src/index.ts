export { initKeys } from './keys/init.ts';
export { keySecrets } from './keys/kubernetes.ts';
export {
  DEFAULT_SERVICES,
  keyPaths,
  OPERATOR,
  PROFILES,
  readOperatorToken,
  TRADER,
  tokenVariable,
} from './keys/layout.ts';
export { readSecret } from './keys/secret-file.ts';
export { fleetDown } from './local/down.ts';
export { type RunningProcess, runningProcess } from './local/pid-file.ts';
export { commandOf, type FleetPlan, memberEnv, type PlannedMember, planFleet } from './local/plan.ts';
export type { Outcome } from './local/start.ts';
export { fleetUp } from './local/up.ts';
export { waitUntilSettled } from './quick-start/settled.ts';
