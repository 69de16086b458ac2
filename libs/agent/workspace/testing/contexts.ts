import type { TestContext } from 'node:test';
import { type Clock, type Log, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type ConfinementOptions, createConfinement } from '../src/confinement/create-confinement.ts';
import { COMMAND_ENV } from '../src/process/command-env.ts';
import { type CommandResult, runCommand } from '../src/process/run-command.ts';
import type { Opening, Workspace, Workspaces } from '../src/tree/workspace.ts';
import { openWorkspaces, type WorkspacesOptions } from '../src/tree/workspaces.ts';
import { makePlace, type Place } from './place.ts';
import { plainWorkspaces } from './plain-workspaces.ts';

export interface Contexts {
  readonly place: Place;
  readonly workspaces: Workspaces;
  /** A task of the context: begins, runs the script as a command, commits. */
  task(contextId: string, script: string, repository?: Opening['repository']): Promise<TaskRun>;
  /** Runs a script as a command of an open context. */
  sh(workspace: Workspace, script: string): Promise<CommandResult>;
  open(contextId: string, repository?: Opening['repository']): Promise<Workspace>;
  /** Opens the same workspaces again, as the next start of the profile does. */
  restart(): Promise<Contexts>;
}

export interface TaskRun extends CommandResult {
  readonly changed: string[];
  /** What the workspace says is left to commit. */
  readonly left: string | undefined;
}

export async function openTestContexts(
  t: TestContext,
  options: Partial<Pick<WorkspacesOptions, 'path' | 'isolation' | 'setUp' | 'commits' | 'repositories'>> & {
    readonly confine?: 'auto' | 'bubblewrap' | 'uid' | 'unconfined';
    readonly place?: Place;
    readonly log?: Log;
    readonly clock?: Clock;
    /** Opens plain folders instead, for which the other options mean nothing. */
    readonly plain?: boolean;
  } & Partial<Pick<ConfinementOptions, 'users' | 'programs'>> = {},
): Promise<Contexts> {
  const {
    confine = 'auto',
    place = makePlace(t),
    log = silentLog,
    clock = systemClock,
    path,
    isolation = 'worktree',
    setUp,
    commits,
    repositories,
    users,
    programs,
  } = options;
  const openReal = async (): Promise<Workspaces> => {
    const confinement = await createConfinement({
      confine,
      ...place,
      repositoryPath: path,
      users,
      ...(programs && { programs }),
      clock,
      log,
    });
    return openWorkspaces({
      profile: 'neo',
      root: place.workspaceRoot,
      path,
      isolation,
      setUp,
      commits,
      repositories,
      confinement,
      clock,
      log,
    });
  };
  const workspaces = options.plain ? plainWorkspaces(place.workspaceRoot) : await openReal();
  const open = (contextId: string, repository?: Opening['repository']): Promise<Workspace> =>
    workspaces.openWorkspace(contextId, {
      repository,
      resumes: false,
      signal: AbortSignal.timeout(60_000),
    });
  const sh = (workspace: Workspace, script: string): Promise<CommandResult> =>
    runCommand(workspace.wrap('/bin/sh', ['-c', script]), {
      cwd: workspace.dir,
      env: { ...COMMAND_ENV, ...workspace.env, ...IDENTITY },
      timeoutMs: 120_000,
      keepBytes: 65_536,
      maxBytes: 1e7,
      clock: systemClock,
    });
  return {
    place,
    workspaces,
    open,
    sh,
    async task(contextId, script, repository) {
      await using workspace = await open(contextId, repository);
      const begun = await workspace.begin(true);
      if ('refused' in begun) throw new Error(begun.refused.detail);
      const result = await sh(workspace, script);
      const { left } = await workspace.commit('Task');
      const todos = left.map(({ todo }) => todo).join('\n') || undefined;
      return { ...result, changed: await workspace.changedSince(begun.base), left: todos };
    },
    restart: () => openTestContexts(t, { ...options, place }),
  };
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'task',
  GIT_AUTHOR_EMAIL: 'task@localhost',
  GIT_COMMITTER_NAME: 'task',
  GIT_COMMITTER_EMAIL: 'task@localhost',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};
