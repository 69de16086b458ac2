/** The state of the repositories that tasks start from and end in (docs/handshake.md#session_announce). */
export interface RepoState {
  /** The branch of the base repository, as git reports it. */
  readonly branch: string;
  /** True without uncommitted changes. */
  readonly clean: boolean;
  /** The reason that no task can work with the repositories; undefined when tasks can. */
  readonly problem?: string;
}
