export { PROXY_PLACES } from './confinement/bubblewrap.ts';
export { COMMAND_GID, COMMAND_UID } from './confinement/command-user.ts';
export type { Confinement } from './confinement/confinement.ts';
export { type ConfinementOptions, createConfinement } from './confinement/create-confinement.ts';
export { killLeftovers, recorded } from './confinement/leftovers.ts';
export { parseUserRange, type UserRange } from './confinement/user-range.ts';
export { createDiskSpace, type DiskSpace, withMonitor } from './disk/disk-space.ts';
export {
  type AnchoredFolder,
  anchoredFolder,
  at,
  entriesOf,
  MAX_SCANNED,
} from './files/anchored-folder.ts';
export { type AnchoredFiles, anchoredFiles } from './files/anchored-path.ts';
export type { CommittedFiles, NotFollowed } from './git/committed-files.ts';
export { LEFT_OUT } from './git/diff.ts';
export { createGit, gitIdentity } from './git/git.ts';
export { type CommandLimits, defaultMemoryMb, defaultProcesses, limitMet } from './limits/command-limits.ts';
export { type ProxiedCommand, throughProxy } from './network/proxied-command.ts';
export { type BackgroundProcess, startBackground } from './process/background.ts';
export { CapturedOutput } from './process/captured-output.ts';
export { COMMAND_ENV } from './process/command-env.ts';
export { createCommandRecords } from './process/command-records.ts';
export { processSpace, processState } from './process/proc.ts';
export { type CommandResult, runCommand, supervise } from './process/run-command.ts';
export { capacityOf, hasCode } from './process/system-error.ts';
export { contextName } from './stores/context-name.ts';
export type { Remote } from './stores/remote.ts';
export { checkRemote, type RemoteFault } from './stores/remote-git.ts';
export { WorkspaceRefused } from './stores/workspace-refused.ts';
export { isCommitBase } from './tree/in-place.ts';
export type { RemoteRepository } from './tree/repositories.ts';
export type { SetUpCommands } from './tree/run-set-up.ts';
export type { SetUpReport } from './tree/set-up-report.ts';
export type {
  Committed,
  ContextStore,
  Opening,
  OpenTree,
  PrunedContexts,
  PruneOptions,
  RemovedContext,
  TaskRepository,
  Workspace,
  Workspaces,
} from './tree/workspace.ts';
export { openWorkspaces } from './tree/workspaces.ts';
