/** The commits of a task's result, as `artifacts.delivery` of its TASK_RESULT has them. */
export interface ResultCommits {
  readonly contextId: string;
  /** As `artifacts.delivery` names it; null for one of the agent's own without a name. */
  readonly repository: string | null;
  readonly branch: string;
  readonly base: string;
  readonly commit: string;
}

/** What was read of a result: a file that goes when it is disposed of. */
export interface ResultContent extends AsyncDisposable {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Reads the results of tasks from the repositories of an agent. Each call throws NO_RESULT when the commits are gone, as with a
 * deleted context, ARTIFACT_TOO_LARGE, and the reason of `signal`.
 */
export interface TaskResults {
  /** Git's diff from base to commit, of one path if it is given; `stat`: git's summary of it by file. */
  diff(
    result: ResultCommits,
    options: { readonly path?: string | undefined; readonly stat: boolean; readonly signal: AbortSignal },
  ): Promise<ResultContent>;
  /** A file as it is in the commit. Throws NO_RESULT for what is no file there. */
  file(
    result: ResultCommits,
    path: string,
    options: { readonly signal: AbortSignal },
  ): Promise<ResultContent>;
  /**
   * A git bundle (https://git-scm.com/docs/gitformat-bundle) of the branch: of what its context added to the commit that it
   * started from, or with the whole history.
   */
  bundle(
    result: ResultCommits,
    options: { readonly whole: boolean; readonly signal: AbortSignal },
  ): Promise<ResultContent>;
}
