export { folderAt } from './folder/fleet-folder.ts';
export { followingFiles } from './folder/following-files.ts';
export { readMembers, servicesOf } from './folder/members.ts';
export { initKeys } from './keys/init.ts';
export { keySecrets } from './keys/kubernetes.ts';
export {
  keyPaths,
  OPERATOR,
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
