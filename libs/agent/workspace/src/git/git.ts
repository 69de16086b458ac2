import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { COMMAND_ENV } from '../process/command-env.ts';
import { type CommandLine, type CommandResult, type RunOptions, runCommand } from '../process/run-command.ts';
import { capacityError } from '../process/system-error.ts';

/** A setting of git. */
export type Setting = readonly [key: string, value: string];

/** Where git runs, and as whom. */
export interface GitPlace {
  readonly cwd: string;
  readonly gitDir: string | undefined;
  readonly workTree: string | undefined;
  /** Replaces the tree's own index. */
  readonly indexFile?: string;
  /** Settings in addition to those of `createGit`. */
  readonly settings?: readonly Setting[];
  /** Variables in addition to those of `GitPlace` and `createGit`. */
  readonly env?: Readonly<Record<string, string>>;
  wrap(command: string, args: readonly string[]): CommandLine;
}

/** What one call needs in addition to its place. */
export type GitCall = Partial<Omit<RunOptions, 'cwd' | 'env' | 'clock'>>;

export type Git = ReturnType<typeof createGit>;

/**
 * Machine-wide settings are ignored. These keep git from some of the programs that a repository can choose. They are not a
 * protection: git in a tree that a task can change runs confined, as the task.
 */
const SETTINGS: readonly Setting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.alternateRefsCommand', ''],
  // Larger files are hashed as a stream instead of in memory, and are binary for a diff.
  ['core.bigFileThreshold', '16m'],
  ['core.quotePath', 'false'],
  // As many as there are cores; git works alone where there are few files.
  ['checkout.workers', '0'],
  ['safe.directory', '*'],
  ['commit.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['protocol.allow', 'never'],
];

const GIT_ENV: Readonly<Record<string, string>> = {
  ...COMMAND_ENV,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
};

const settingsEnv = (settings: readonly Setting[]): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
});

const LIMITS = { timeoutMs: 60_000, keepBytes: 8 * 1024 * 1024, maxBytes: 64 * 1024 * 1024 };

/** Matches the output of git and the shell when no process can be started. */
const NO_ROOM = /^.*(?:[Cc]annot fork|unable to fork|Resource temporarily unavailable).*$/m;

/** Runs git, and scripts of several git steps, for the gateway. Throws CAPACITY when no process can be started. */
export function createGit(options: { readonly profile: string; readonly clock: Clock; readonly log: Log }) {
  const base = { ...GIT_ENV, ...settingsEnv(SETTINGS), ...gitIdentity(options.profile) };

  async function start(
    command: string,
    args: readonly string[],
    place: GitPlace,
    call?: GitCall,
  ): Promise<CommandResult> {
    const env: Record<string, string> = { ...base, ...place.env };
    if (place.settings !== undefined) Object.assign(env, settingsEnv([...SETTINGS, ...place.settings]));
    if (place.gitDir !== undefined) env.GIT_DIR = place.gitDir;
    if (place.workTree !== undefined) env.GIT_WORK_TREE = place.workTree;
    if (place.indexFile !== undefined) env.GIT_INDEX_FILE = place.indexFile;
    const result = await runCommand(place.wrap(command, args), {
      cwd: place.cwd,
      env,
      clock: options.clock,
      ...LIMITS,
      ...call,
    });
    const noRoom = result.exitCode === 0 ? null : NO_ROOM.exec(result.stderr);
    if (noRoom !== null) throw capacityError(noRoom[0]);
    return result;
  }

  /** Runs git and returns how it ended. */
  const exec = (place: GitPlace, args: readonly string[], call?: GitCall): Promise<CommandResult> =>
    start('git', args, place, call);

  return {
    exec,
    /** Returns standard output. A failure throws INTERNAL; its text goes to the log. */
    async run(place: GitPlace, args: readonly string[], call?: GitCall): Promise<string> {
      const result = await exec(place, args, call);
      if (result.exitCode === 0) return result.stdout;
      options.log.error({ command: args[0], ...failureOf(result) }, 'git failed');
      throw new FleetError('INTERNAL', `git ${args[0]} failed in the workspace; the log has its output`);
    },
    /** Asks a question that git answers with its exit code. */
    ask: async (place: GitPlace, args: readonly string[]): Promise<boolean> =>
      (await exec(place, args)).exitCode === 0,
    /** Runs a shell script that calls git, and returns how it ended. */
    script: (place: GitPlace, script: string, args: readonly string[], call?: GitCall) =>
      start('/bin/sh', ['-c', script, 'sh', ...args], place, call),
  };
}

/** True for a command of git that failed because the disk is full. */
export const isFull = ({ exitCode, stderr }: CommandResult): boolean =>
  exitCode !== 0 && /No space left on device|Disk quota exceeded/.test(stderr);

/** How a command failed, for the log. */
export const failureOf = ({ exitCode, killed, stderr }: CommandResult) => ({
  exitCode,
  killed,
  stderr: stderr.slice(0, 2000),
});

/** The lines of an output, without empty ones. */
export const linesOf = (output: string): string[] => output.split('\n').filter((line) => line !== '');

/** Author and committer, for git run by the gateway and by the agent's commands alike. */
export function gitIdentity(profile: string): Record<string, string> {
  const name = `Hermes Fleet ${profile}`;
  const email = `${profile.replace(/[^A-Za-z0-9._-]/g, '-')}@hermes-fleet.invalid`;
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}
