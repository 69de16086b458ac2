import { type Clock, FleetError, type Log } from '@hermes-fleet/protocol';
import { COMMAND_ENV } from '../confinement/command-env.ts';
import { type CommandLine, runCommand } from '../process/run-command.ts';

/** Where git runs, and its confinement. */
export interface GitPlace {
  readonly cwd: string;
  readonly gitDir: string | undefined;
  readonly workTree: string | undefined;
  /** Replaces the tree's own index. */
  readonly indexFile?: string;
  wrap(command: string, args: readonly string[]): CommandLine;
}

export interface Git {
  /** Returns standard output. A failure throws INTERNAL; its text goes to the log. */
  run(place: GitPlace, args: readonly string[], signal?: AbortSignal): Promise<string>;
  /** Returns the exit code, for questions that git answers with it. */
  ask(place: GitPlace, args: readonly string[]): Promise<number | null>;
  /** Returns the exit code of a shell script that runs confined as git does. */
  script(place: GitPlace, script: string, args: readonly string[]): Promise<number | null>;
}

/** Machine-wide settings are ignored. These keep git from running a program that the repository chooses. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'safe.directory=*',
  'commit.gpgSign=false',
  'gc.auto=0',
  'core.quotePath=false',
].flatMap((setting) => ['-c', setting]);

const LIMITS = { timeoutMs: 60_000, keepBytes: 8 * 1024 * 1024, maxBytes: 64 * 1024 * 1024 };

/** Runs git for the gateway, confined like the agent's commands, because those can plant settings for it. */
export function createGit(options: {
  readonly profile: string;
  readonly clock: Clock;
  readonly log: Log;
}): Git {
  const identity = gitIdentity(options.profile);
  const exec = (place: GitPlace, command: string, args: readonly string[], signal?: AbortSignal) => {
    const env: Record<string, string> = {
      ...COMMAND_ENV,
      ...identity,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_OPTIONAL_LOCKS: '0',
    };
    if (place.gitDir !== undefined) env.GIT_DIR = place.gitDir;
    if (place.workTree !== undefined) env.GIT_WORK_TREE = place.workTree;
    if (place.indexFile !== undefined) env.GIT_INDEX_FILE = place.indexFile;
    return runCommand(place.wrap(command, args), {
      cwd: place.cwd,
      env,
      signal,
      clock: options.clock,
      ...LIMITS,
    });
  };
  return {
    async run(place, args, signal) {
      const result = await exec(place, 'git', [...SETTINGS, ...args], signal);
      if (result.exitCode === 0) return result.stdout;
      const { exitCode, stderr, killed } = result;
      options.log.error({ command: args[0], exitCode, killed, stderr: stderr.slice(0, 2000) }, 'git failed');
      throw new FleetError('INTERNAL', `git ${args[0]} failed in the workspace; the log has its output`);
    },
    ask: async (place, args) => (await exec(place, 'git', [...SETTINGS, ...args])).exitCode,
    script: async (place, script, args) =>
      (await exec(place, '/bin/sh', ['-c', script, 'sh', ...args])).exitCode,
  };
}

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
