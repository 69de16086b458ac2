import type { Git } from '../src/git/git.ts';

/** Git of a gateway that is killed after so many calls: none begins any more. */
export function mortal(git: Git, life: { calls: number }): Git {
  const guarded =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      life.calls -= 1;
      if (life.calls < 0) throw new Error('killed');
      return call(...args);
    };
  return {
    exec: guarded(git.exec),
    run: guarded(git.run),
    ask: guarded(git.ask),
    script: guarded(git.script),
  };
}
