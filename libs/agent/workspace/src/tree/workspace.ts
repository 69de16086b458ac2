import type { Delivery, Unmet } from '@hermes-fleet/protocol/handshake';
import type { RepoState, RepositoryBundles, ResultContent, TaskResults } from '@hermes-fleet/protocol/ports';
import type { ProxyFiles } from '../confinement/confinement.ts';
import type { AnchoredFiles } from '../files/anchored-path.ts';
import type { Uncommitted } from '../git/add-all.ts';
import type { CommittedFiles, NotFollowed } from '../git/committed-files.ts';
import type { CommandLine } from '../process/run-command.ts';
import type { FetchProgress } from '../stores/origin.ts';
import type { SetUpProgress, SetUpReport } from './set-up-report.ts';

/** The base of a task, for its checkpoint, or why the task cannot start. */
export type Beginning = { readonly base: string } | { readonly refused: Unmet };

/** How the work of a task was kept. */
export interface Committed {
  /** The work that stays uncommitted, and that of earlier tasks which needs a look. */
  readonly left: readonly Uncommitted[];
  /** The result; absent when the task changed nothing, or nothing of it could be taken. */
  readonly delivery?: Delivery | undefined;
}

/** A tree that is open for work in it, until it is disposed of. */
export interface OpenTree extends AsyncDisposable {
  readonly dir: string;
  /** The files of the tree. Commands may write to those that the gateway makes. */
  readonly files: AnchoredFiles;
  /** Returns a command line confined to this tree and its repository; `proxy` is that of a `ProxiedCommand`. */
  wrap(command: string, args: readonly string[], proxy?: ProxyFiles): CommandLine;
}

/** A working tree that a run uses exclusively until it is disposed of. Then nothing of the run's commands is left. */
export interface Workspace extends OpenTree {
  readonly branch: string;
  /** Variables for commands: their home directory, and in a context's own tree a folder for temporary files. */
  readonly env: Readonly<Record<string, string>>;
  /** How the tree was prepared for work when it was made; absent without a set-up. */
  readonly setUp?: SetUpReport | undefined;
  /** The files that the work started from: no task of the context wrote them, except in place, where tasks can commit. */
  readonly started: CommittedFiles;
  /** Names the files that were not fetched; absent in place, where the user may have them. */
  notFollowed?(): Promise<NotFollowed>;
  /** Starts a task. `write`: the task is meant to change the tree. */
  begin(write: boolean): Promise<Beginning>;
  /** True when the task began with all files committed; false when that is not known. */
  beganClean(): boolean;
  /** Continues a task that began at `base`. Throws CONFIG_INVALID when it began under another isolation. */
  resume(base: string): Promise<void>;
  /**
   * Takes all changes over, except `.scratch/`, PROGRESS.json and the invalid ones kept aside: from then on, `changedSince` knows
   * them. No command may run between this and `commit`.
   */
  save(): Promise<void>;
  /**
   * Commits these changes, which are saved if they are not yet: as one commit of the gateway in place of the commits of the task; in
   * place, on the branch of the tree, behind those that the task made.
   */
  commit(message: string, options?: { readonly isTold?: boolean }): Promise<Committed>;
  /** Keeps the work of an interrupted task, which continues with it later. */
  leave(message: string): Promise<unknown>;
  /** Paths that differ between `base` and the end of the task, sorted, deleted ones included. */
  changedSince(base: string): Promise<string[]>;
  /** Git's diff between `base` and the current files, cut to `maxChars`. */
  diffSince(base: string, maxChars: number): Promise<string>;
}

/** The repository that a task names. */
export interface TaskRepository {
  /** That is configured. */
  readonly name?: string | undefined;
  /** A branch of it; with `bundle`, the commit of the checkout that the task starts from. */
  readonly base?: string | undefined;
  /** Opens the bundle that brings a commit of the caller's checkout. Throws as `BundleSource`. */
  readonly bundle?: ((commit: string) => Promise<ResultContent>) | undefined;
}

export interface Opening {
  /** The repository of the task; undefined: that of `WorkspacesOptions.path`, or the profile's own. */
  readonly repository?: TaskRepository | undefined;
  /** True when the run continues an interrupted task; such runs go ahead of new ones. */
  readonly resumes: boolean;
  /** Ends the wait for the tree. */
  readonly signal: AbortSignal;
  /** Called when the run waits for the set-up of its tree, and at the end of that. */
  readonly onSetUp?: ((state: SetUpProgress) => Promise<void>) | undefined;
  /** Called when the run waits for a fetch of its repository, and at the end of that. */
  readonly onFetch?: ((state: FetchProgress) => Promise<void>) | undefined;
}

export interface Tree {
  readonly dir: string;
  /** Undefined when the context has been removed meanwhile. */
  openTree(): Promise<OpenTree | undefined>;
}

/** What became of a removed context. */
export interface RemovedContext {
  /** False when there were no files. */
  readonly files: boolean;
  /**
   * `merged`: the result was contained in what new contexts start from, or changed nothing, and its branch is gone;
   * `kept`: its branch stays; `deleted`: it was not merged, and its branch is gone.
   */
  readonly result: 'none' | 'merged' | 'kept' | 'deleted';
}

/** Which contexts and results are no longer needed. */
export interface PruneOptions {
  /** A context that was used later stays; ms since the epoch. */
  readonly unusedBefore: number;
  /** An unmerged result without a context that was recorded later stays; undefined: all stay. */
  readonly resultsBefore: number | undefined;
  /** True when there are tasks of the context, so that it stays. */
  hasTasks(contextId: string): boolean;
  /** The ids of contexts with tasks that sort after `after`, sorted, at most `limit`. */
  contextIds(after: string, limit: number): readonly string[];
  readonly signal: AbortSignal;
}

export interface PrunedContexts {
  readonly contexts: number;
  /** Results whose context had gone before. */
  readonly results: number;
}

/** The contexts on disk, and their removal (docs/operations.md#what-is-removed-and-when). */
export interface ContextStore {
  /**
   * Removes a context with its files, its user and all processes of that user, and its result if it is merged or `results`
   * is `delete`. The objects of the result are gone then, or go with the next `prune` when a short time ago others went. A call for a context that is gone completes an earlier removal.
   * Throws CONTEXT_IN_USE while a task works there, the signal's reason, and INTERNAL when something is left, which a further
   * call, the next hour or the next start removes.
   */
  remove(
    contextId: string,
    options: {
      readonly results: 'keep' | 'delete';
      /** Ends processes that work in the context without being its commands. Called when no task can begin there. */
      readonly release?: (() => Promise<void>) | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<RemovedContext>;
  /** Removes what is no longer needed, and completes earlier removals. Throws the signal's reason. */
  prune(options: PruneOptions): Promise<PrunedContexts>;
  /** Resolves with a function that tells whether a context had files or a result when this was called. */
  held(): Promise<(contextId: string) => boolean>;
}

export interface Workspaces {
  /** Resolves with the context's tree when the run may use it. Throws WorkspaceRefused. */
  openWorkspace(contextId: string, opening: Opening): Promise<Workspace>;
  /** The state of the repositories, at most 2 s old. Throws CAPACITY when no process can be started. */
  repoState(): Promise<RepoState>;
  /** The results of tasks; absent where nothing keeps them. */
  readonly results?: TaskResults;
  /** All existing trees, also those that runs use. */
  trees(): Promise<Tree[]>;
  /** Absent in place, where there are no contexts. */
  readonly contexts?: ContextStore;
  /** The checkouts that callers sent; absent in place. */
  readonly bundles?: RepositoryBundles;
}
