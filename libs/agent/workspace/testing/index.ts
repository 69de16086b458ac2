export { type MadeBundle, makeSendingCheckout, type SendingCheckout } from './bundles.ts';
export { type Checkout, makeCheckout } from './checkout.ts';
export { type Contexts, openTestContexts } from './contexts.ts';
export { type Forge, startForge } from './forge.ts';
export { type GitServer, startGitServer } from './git-server.ts';
export { KERNEL_ATTACKS } from './kernel-attacks.ts';
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
