import type { Unmet } from '@hermes-fleet/protocol';
import type { CommandLine } from '../process/run-command.ts';

/** The base of a task, for its checkpoint, or why the task cannot start. */
export type Beginning = { readonly base: string } | { readonly refused: Unmet };

/** Work that a task leaves for somebody to commit. */
export interface Uncommitted {
  readonly todo: string;
  /** True when there certainly is such work; false when only if the task changed files. */
  readonly certain: boolean;
}

/** A working tree that a run uses exclusively until it is disposed of. */
export interface Workspace extends Disposable {
  readonly dir: string;
  readonly branch: string;
  /** Returns a command line confined to this tree and the repository's `.git`. */
  wrap(command: string, args: readonly string[]): CommandLine;
  /** Starts a task. `write`: the task is meant to change the tree. */
  begin(write: boolean): Promise<Beginning>;
  /** Continues a task that began at `base`. Throws CONFIG_INVALID when it began under another isolation. */
  resume(base: string): Promise<void>;
  /**
   * Commits all changes except `.scratch/`, PROGRESS.json and the invalid ones kept aside. Resolves with the work that
   * stays uncommitted, if any.
   */
  commit(message: string): Promise<Uncommitted | undefined>;
  /** Keeps the work of an interrupted task, which continues with it later. */
  leave(message: string): Promise<unknown>;
  /** Paths that differ between `base` and the end of the task, sorted, deleted ones included. */
  changedSince(base: string): Promise<string[]>;
  /** Git's diff between `base` and the current files, cut to `maxChars`. */
  diffSince(base: string, maxChars: number): Promise<string>;
}

export interface Opening {
  /** True when the run continues an interrupted task; such runs go ahead of new ones. */
  readonly resumes: boolean;
  /** Ends the wait for the tree. */
  readonly signal: AbortSignal;
}

export interface Workspaces {
  /** Resolves with the context's tree when the run may use it. */
  open(contextId: string, opening: Opening): Promise<Workspace>;
  /** The base repository's branch and whether its tree is clean, at most 2 s old. */
  repoState(): Promise<{ branch: string; clean: boolean }>;
  /** Directories of all existing trees. */
  trees(): Promise<string[]>;
}

/** Pathspecs that leave files out of commits and of `files_changed` (docs/agent.md#progress-scratchpad-memory). */
export const LEFT_OUT = [
  ...['--', '.', ':(exclude,top).scratch', ':(exclude,top)PROGRESS.json'],
  ...[':(exclude,top).PROGRESS.json.tmp', ':(exclude,top)PROGRESS.invalid-*.json'],
];

const PLAIN = ['--no-renames', '--no-ext-diff', '--no-textconv'];
/** Options of a diff that lists paths, independent of the repository's settings. */
export const NAMES = ['--name-status', '-z', ...PLAIN];
/** Options of a readable diff, independent of the repository's settings. */
export const READABLE = ['--no-color', ...PLAIN, '--src-prefix=a/', '--dst-prefix=b/'];

/** Parses the output of a diff with `NAMES` into sorted paths. */
export const pathsOf = (output: string): string[] =>
  output
    .split('\0')
    .filter((_, index) => index % 2 === 1)
    .sort();

export const shortened = (diff: string, maxChars: number): string =>
  diff.length > maxChars ? `${diff.slice(0, maxChars)}\n[the diff goes on: look at the files]` : diff;
