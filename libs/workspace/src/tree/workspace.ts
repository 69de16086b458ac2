import type { Unmet } from '@hermes-fleet/protocol';
import type { CommandLine } from '../process/run-command.ts';

/** What a task starts from, for its checkpoint; or why it cannot start. */
export type Beginning = { readonly base: string } | { readonly refused: Unmet };

/** What a task leaves for somebody to commit. */
export interface Uncommitted {
  readonly todo: string;
  /** Whether there is something in any case; else only where the task changed files. */
  readonly certain: boolean;
}

/** The working tree that a run has to itself until it is disposed of. */
export interface Workspace extends Disposable {
  readonly dir: string;
  readonly branch: string;
  /** A command line confined to this tree and the repository's objects. */
  wrap(command: string, args: readonly string[]): CommandLine;
  /** Starts a task. `write`: it is meant to change the tree. */
  begin(write: boolean): Promise<Beginning>;
  /** Goes on with a task that began at `base`. Throws CONFIG_INVALID when it did not begin in such a tree. */
  resume(base: string): Promise<void>;
  /**
   * Commits everything but `.scratch/` and PROGRESS.json, also one that was set aside; nothing when nothing changed.
   * Resolves with what is left for somebody to do where changes stay uncommitted.
   */
  commit(message: string): Promise<Uncommitted | undefined>;
  /** Leaves an interrupted task's work for it to go on with. */
  leave(message: string): Promise<unknown>;
  /** Paths that differ between `base` and the tree as the task leaves it, sorted; deleted ones included. */
  changedSince(base: string): Promise<string[]>;
  /** What differs between `base` and the files as they are now, as git shows it, at most this long. */
  diffSince(base: string, maxChars: number): Promise<string>;
}

/** How a run comes to a workspace. */
export interface Opening {
  /** It goes on with a task that was interrupted: ahead of those that have not begun. */
  readonly resumes: boolean;
  /** Ends the wait for the tree. */
  readonly signal: AbortSignal;
}

export interface Workspaces {
  /** The context's tree, once the run may have it. */
  open(contextId: string, opening: Opening): Promise<Workspace>;
  /** The base repository's branch and whether its tree is clean; measured at most every 2 s. */
  repoState(): Promise<{ branch: string; clean: boolean }>;
  /** The directories of all trees that there are. */
  trees(): Promise<string[]>;
}

/** Left out of commits and of `files_changed` (design 2, Write tasks). */
export const LEFT_OUT = [
  ...['--', '.', ':(exclude,top).scratch', ':(exclude,top)PROGRESS.json'],
  ...[':(exclude,top).PROGRESS.json.tmp', ':(exclude,top)PROGRESS.invalid-*.json'],
];

const PLAIN = ['--no-renames', '--no-ext-diff', '--no-textconv'];
/** Options of a diff that names the paths, whatever the repository's settings say. */
export const NAMES = ['--name-status', '-z', ...PLAIN];
/** Options of a diff to read, whatever the repository's settings say. */
export const READABLE = ['--no-color', ...PLAIN, '--src-prefix=a/', '--dst-prefix=b/'];

/** The paths in the output of a diff with `NAMES`, sorted. */
export const pathsOf = (output: string): string[] =>
  output
    .split('\0')
    .filter((_, index) => index % 2 === 1)
    .sort();

/** A diff cut to this length. */
export const shortened = (diff: string, maxChars: number): string =>
  diff.length > maxChars ? `${diff.slice(0, maxChars)}\n[the diff goes on: look at the files]` : diff;
