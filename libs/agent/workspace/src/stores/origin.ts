import type { RepoState, ResultContent } from '@hermes-fleet/protocol/ports';

/** Where a context starts, and how long that may take. */
export interface Starting {
  /** A commit of the caller's checkout, and how the bundles are opened that bring it and what it builds on. */
  readonly checkout?: { readonly commit: string; open(commit: string): Promise<ResultContent> } | undefined;
  /** The branch, where the origin has more than one; undefined: the one that is configured. */
  readonly branch?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the start waits for a fetch, and at the end of that. */
  readonly onFetch?: ((state: FetchProgress) => Promise<void>) | undefined;
}

export type FetchProgress = 'started' | 'done' | 'failed';

export interface Start {
  readonly commit: string;
  /** Why it may not be the newest commit of its branch; undefined when it is. */
  readonly stale?: string | undefined;
}

/** Where the commits of a base come from. */
export interface Origin {
  /**
   * Brings the commit that a new context starts from into the store. Throws WorkspaceRefused, CONFIG_INVALID when the user's
   * repository is not usable, and the reason of the signal.
   */
  start(starting: Starting): Promise<Start>;
  /** The commits in which results may be merged, as far as they are here. Throws as `start`. */
  heads(): Promise<readonly string[]>;
  /** The commits that were brought last: a context may be starting from one. */
  newest(): readonly string[];
  state(): Promise<RepoState>;
  /** Runs work on the store while nothing is fetched into it; absent where nothing is. */
  readonly inTurn?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
}

/** The refs of `baseRef`. */
export const BASES = 'refs/bases/';
/** Keeps a commit in the base for the contexts that started there, also when its branch has left it. */
export const baseRef = (commit: string): string => BASES + commit;
