/** Which contexts' trees have nothing but what a commit has, since a task ended there and everything of its user with it. */
export interface SavedTrees {
  /** Returns the commit, once: the task that asks may change the tree. */
  take(name: string): string | undefined;
  put(name: string, commit: string): void;
}

const MAX_NAMES = 1000;

/** Knows the last 1,000 trees. The others are compared with their commits again, which costs time only. */
export function createSavedTrees(): SavedTrees {
  const commits = new Map<string, string>();
  return {
    take(name) {
      const commit = commits.get(name);
      commits.delete(name);
      return commit;
    },
    put(name, commit) {
      commits.set(name, commit);
      const [oldest] = commits.keys();
      if (commits.size > MAX_NAMES && oldest !== undefined) commits.delete(oldest);
    },
  };
}
