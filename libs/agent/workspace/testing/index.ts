export { type Contexts, openTestContexts } from './contexts.ts';
export { KERNEL_ATTACKS, type KernelAttack } from './kernel-attacks.ts';
export { landlockHelper, withoutLandlock } from './landlock-helper.ts';
export { memoryFile, PERL } from './memory-attacks.ts';
export { closedToOthers, nodeForOthers } from './other-users.ts';
export {
  cannotConfine,
  commandsFolder,
  makePlace,
  mayChangeUsers,
  type Place,
  SECRET,
} from './place.ts';
export { plainWorkspaces } from './plain-workspaces.ts';
export { committedFiles, setUpBy } from './set-ups.ts';
export { objectsOf, storesOf } from './stores.ts';
