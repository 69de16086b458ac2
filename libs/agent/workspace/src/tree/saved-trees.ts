const MAX_NAMES = 1000;

export type SavedTrees = ReturnType<typeof createSavedTrees>;

/**
 * Knows, of the last 1,000 contexts, whose trees have nothing but what a commit has, since a task ended there and everything of its
 * user with it. The others are compared with their commits again, which costs time only.
 */
export function createSavedTrees() {
  const commits = new Map<string, string>();
  return {
    /** Returns the commit, once: the task that asks may change the tree. */
    takeCommit(name: string): string | undefined {
      const commit = commits.get(name);
      commits.delete(name);
      return commit;
    },
    put(name: string, commit: string): void {
      commits.set(name, commit);
      const [oldest] = commits.keys();
      if (commits.size > MAX_NAMES && oldest !== undefined) commits.delete(oldest);
    },
  };
}
