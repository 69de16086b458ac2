import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '../confinement/confinement.ts';
import { type DiskSpace, withMonitor } from '../disk/disk-space.ts';
import { type Git, type GitPlace, gitIdentity, linesOf } from '../git/git.ts';
import { type ProxiedCommand, throughProxy } from '../network/proxied-command.ts';
import { COMMAND_ENV } from '../process/command-env.ts';
import { type CommandResult, runCommand } from '../process/run-command.ts';
import type { Base } from '../stores/base.ts';
import { receivePack } from '../stores/pack-file.ts';
import { MAX_FILE_BYTES } from '../stores/quarantine.ts';
import { branchOf } from '../stores/result-refs.ts';
import { openContextPlace } from './context-place.ts';
import { LEAVE_OUT, SET_UP } from './scripts.ts';
import type { SetUpFailure } from './set-up-report.ts';
import { COLLECT, PACK_HOME, PACK_TREE } from './set-up-scripts.ts';
import { findSecret, maskOf } from './set-up-secrets.ts';

/** The commands that prepare a tree for work (docs/configuration.md#set-up). */
export interface SetUpCommands {
  /** Run one after the other; the first that fails ends the set-up. */
  readonly commands: readonly string[];
  /** The absolute path of the shell that runs them. */
  readonly shell: string;
  /** Variables of the commands. */
  readonly env: Readonly<Record<string, string>>;
  /** Reads variables of the commands that nothing else may know; absent: none. Throws CONFIG_INVALID. */
  readonly secrets?: (() => Readonly<Record<string, string>>) | undefined;
  /** For all of them together. */
  readonly timeoutMs: number;
  /** The most that they may leave; undefined: no limit. */
  readonly maxBytes: number | undefined;
  /** Ends a command that takes too much of the disk. */
  readonly disk: Pick<DiskSpace, 'monitor'>;
  /** Opens the way of a command to the network; absent where the confinement has one, or none at all. */
  readonly proxied?: (() => ProxiedCommand) | undefined;
}

export interface SetUpParts {
  readonly profile: string;
  readonly base: Base;
  readonly confinement: Confinement;
  readonly git: Git;
  readonly clock: Clock;
  readonly log: Log;
}

/** In the folder of an outcome: what is put into the trees and into the home directories of contexts. */
export const ARCHIVES = ['tree', 'home'] as const;
export const archiveOf = (folder: string, which: (typeof ARCHIVES)[number]): string =>
  join(folder, `${which}.tar`);

const CHECKOUT_MS = 10 * 60_000;
const ARCHIVE_MS = 30 * 60_000;
const MAX_OUTPUT_CHARS = 2000;
const OUTPUT = { keepBytes: 64 * 1024, maxBytes: 64 * 1024 * 1024 };

/** The tree may belong to a user other than the command's. */
const TRUST_TREE = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };

/**
 * Runs the commands in a tree of the commit, in the folder `dir`, which must not exist, as a user of its own. What they left, but
 * for changes of the commit's own files, is then in the archives of `outcome`. Resolves with the failure of a command, and throws
 * the signal's reason.
 */
export async function runSetUp(
  { dir, commit, outcome }: { readonly dir: string; readonly commit: string; readonly outcome: string },
  setUp: SetUpCommands,
  { profile, base, confinement, git, clock, log }: SetUpParts,
  signal: AbortSignal,
): Promise<SetUpFailure | undefined> {
  const last = setUp.commands.at(-1) ?? '';
  const { timeoutMs, maxBytes = Number.MAX_SAFE_INTEGER } = setUp;
  const secrets = setUp.secrets?.() ?? {};
  const masked = maskOf(secrets);
  await using place = await openContextPlace(dir, confinement, base, { clock, log });
  await place.make();
  const failed = (what: string, { exitCode, killed, stderr }: CommandResult): FleetError =>
    new FleetError('INTERNAL', `${what} (${killed ?? exitCode}): ${masked(stderr.trim()).slice(-300)}`);
  const env = { HOME: place.home, TMPDIR: place.tmp };
  const gitPlace: GitPlace = {
    cwd: place.dir,
    gitDir: join(place.dir, '.git'),
    workTree: place.dir,
    env,
    wrap: place.wrap,
  };
  const script = (text: string, args: readonly string[]): Promise<CommandResult> =>
    git.script(gitPlace, text, args, { timeoutMs: CHECKOUT_MS, signal });
  const branch = branchOf('set-up');
  const checkout = [base.objects, branch, commit, 'checkout', String(MAX_FILE_BYTES), '', LEAVE_OUT];
  const made = await script(SET_UP, [...checkout, ...(await base.shallow())]);
  if (made.exitCode !== 0) throw failed('its tree cannot be made', made);

  const monitor = setUp.disk.monitor([place.dir, place.home, place.tmp], place.wrap);
  const until = clock.now() + timeoutMs;
  // Set within the confinement: the programs that confine a command do not get them.
  const configured = Object.entries(setUp.env).map(([name, value]) => `${name}=${value}`);
  for (const command of setUp.commands) {
    const proxied = setUp.proxied?.();
    const args = ['-c', 'exec env "$@"', 'sh', ...configured, setUp.shell, '-c', command];
    const line = throughProxy(place.wrap, proxied)('/bin/sh', args);
    const result = await runCommand(withMonitor(line, monitor), {
      cwd: place.dir,
      // No argument has a secret: all users can read those.
      env: { ...secrets, ...COMMAND_ENV, ...gitIdentity(profile), ...TRUST_TREE, ...env },
      timeoutMs: Math.max(1, until - clock.now()),
      signal,
      clock,
      ...OUTPUT,
    });
    const reason = reasonOf(result, timeoutMs, proxied?.refused());
    if (reason !== undefined)
      return { command, reason: masked(reason), output: endOf(masked(outputOf(result))) };
  }

  const collected = await script(COLLECT, [dir, commit]);
  if (collected.exitCode !== 0) throw failed('git cannot list what it left', collected);
  const submodules = linesOf(collected.stdout);
  if (submodules.length > 0)
    log.warn(
      { commit, submodules: submodules.slice(0, 20).map(masked) },
      'contexts do not get the files of submodules that the set-up fetched',
    );
  await mkdir(outcome, { recursive: true, mode: 0o700 });
  for (const which of ARCHIVES) {
    const text = which === 'tree' ? PACK_TREE : PACK_HOME;
    const to = { file: archiveOf(outcome, which), maxBytes, timeoutMs: ARCHIVE_MS, signal };
    const { result } = await receivePack(git, gitPlace, { text, args: [] }, to);
    if (result.killed === 'output') {
      const reason = `what it left has more than ${Math.floor(maxBytes / 1024 / 1024)} MiB (workspace.max_mb)`;
      return { command: last, reason, output: '' };
    }
    if (result.exitCode !== 0) throw failed('what it left cannot be archived', result);
    const found = await findSecret(to.file, secrets, signal);
    if (found !== undefined) {
      const file = `${which === 'home' ? '~/' : ''}${found.file.replace(/^\.\//, '')}`;
      const reason = `it left the secret ${found.variable} in ${masked(file)}; remove the file in the last command of setup`;
      return { command: last, reason, output: '' };
    }
  }
  return undefined;
}

function reasonOf(
  result: CommandResult,
  timeoutMs: number,
  refused: readonly string[] = [],
): string | undefined {
  if (result.killed === 'timeout') return `not complete after ${timeoutMs / 1000} s (setup_timeout_s)`;
  if (result.killed !== undefined) return result.limit ?? 'it printed too much';
  if (result.exitCode === 0) return undefined;
  const end = result.exitCode === null ? `ended by ${result.signal}` : `exit code ${result.exitCode}`;
  return refused.length === 0 ? end : `${end}; the network refused ${refused.join('; ')}`;
}

const outputOf = ({ stdout, stderr }: CommandResult): string => stderr.trim() || stdout.trim();
const endOf = (text: string): string => text.slice(-MAX_OUTPUT_CHARS).toWellFormed();
