/** Counts the tasks that wait for an answer of their caller. */
export interface QuestionWaits {
  /** The limit is reached. Tasks that waited before a restart are admitted beyond it. */
  readonly full: boolean;
  /** Counts a task until the result is disposed; `since` is the start of its wait, ms since the epoch. */
  add(since: number): Disposable;
  readonly size: number;
  /** The start of the longest wait, ms since the epoch; undefined without any. */
  readonly since: number | undefined;
}

/** `max` is the largest number of waiting tasks. */
export function createQuestionWaits(max: number): QuestionWaits {
  const waiting = new Set<{ readonly since: number }>();
  return {
    get full() {
      return waiting.size >= max;
    },
    get size() {
      return waiting.size;
    },
    get since() {
      return waiting.size === 0 ? undefined : Math.min(...[...waiting].map(({ since }) => since));
    },
    add(since) {
      const entry = { since };
      waiting.add(entry);
      return { [Symbol.dispose]: () => void waiting.delete(entry) };
    },
  };
}
