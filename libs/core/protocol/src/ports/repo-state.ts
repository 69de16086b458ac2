/** The state of the repositories that tasks start from and end in (docs/handshake.md#session_announce). */
export type RepoState = {
  /** The branch of the base repository, as git reports it. */
  readonly branch: string;
  /** False if the user's repository, which trees are made from, has uncommitted changes; undefined without one, and in place. */
  readonly baseClean?: boolean;
  /** The reason that no task can work with the repositories; undefined when tasks can. */
  readonly problem?: string;
} & (
  | {
      /** A task gets a tree without uncommitted changes: always with a tree per context, which is made from a commit. */
      readonly clean: true;
    }
  | {
      /** The tree in which tasks work in place has uncommitted changes. */
      readonly clean: false;
      /** Names that tree, its branch and its changes: "/app is dirty (branch main; changed: a.txt)". */
      readonly uncommitted: string;
      /** True while they are those of a task that commits them at its end; else only a person ends them. */
      readonly inUse?: boolean;
    }
);
