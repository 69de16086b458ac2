import { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TestContext } from 'node:test';

/**
 * Calls `then` after each COMMIT of this process, before anybody is told of it. The returned function ends that.
 */
export function afterCommits(then: () => void): () => void {
  const { exec } = DatabaseSync.prototype;
  const { run } = StatementSync.prototype;
  DatabaseSync.prototype.exec = new Proxy(exec, {
    apply(target, database: DatabaseSync, [sql]: Parameters<typeof exec>) {
      Reflect.apply(target, database, [sql]);
      if (sql === 'COMMIT') then();
    },
  });
  StatementSync.prototype.run = new Proxy(run, {
    apply(target, statement: StatementSync, args: Parameters<typeof run>) {
      const result = Reflect.apply(target, statement, args);
      if (statement.sourceSQL === 'COMMIT') then();
      return result;
    },
  });
  return () => {
    DatabaseSync.prototype.exec = exec;
    StatementSync.prototype.run = run;
  };
}

/** Counts the transactions that this process commits during a test. Returns a function that reads the count. */
export function countCommits(t: TestContext): () => number {
  let commits = 0;
  t.after(
    afterCommits(() => {
      commits += 1;
    }),
  );
  return () => commits;
}
