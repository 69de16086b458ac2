/** Counts that trigger a warning, a stronger warning, and the end of the run. */
export interface Limits {
  readonly warn: number;
  readonly harder?: number;
  readonly stop: number;
}

/** The warning for the model, and the reason in the result when the run is stopped. */
export interface Words {
  warning(harder: boolean): string;
  readonly stop: string;
}

const MAX_LISTED = 5;

/** Edits of one file. */
export const fileWords = (path: string, count: number, { stop }: Limits): Words => ({
  warning: (harder) =>
    harder
      ? `You've edited ${path} ${count} times, and no check has passed since. Stop editing it: read the task again, find ` +
        `out what is really wrong, and try a fundamentally different solution. At ${stop} edits the run is ended.`
      : `You've edited ${path} ${count} times. Consider stepping back: is your approach correct, or should you try a ` +
        'fundamentally different solution?',
  stop: `${path} was edited ${count} times, and no check passed`,
});

/** Alternating edits of several files. */
export const totalWords = (paths: readonly string[], count: number, { stop }: Limits): Words => ({
  warning: () =>
    `You've edited the same files (${listed(paths)}) ${count} times since a check passed. Verify what you have before ` +
    `you edit any further, or try a fundamentally different solution. At ${stop} edits the run is ended.`,
  stop: `the same files (${listed(paths)}) were edited ${count} times, and no check passed`,
});

export const callWords = (tool: string, count: number, { stop }: Limits): Words => ({
  warning: () =>
    `You've called ${tool} ${count} times with the same input. It will come to the same again: do something else, or ` +
    `finish. At ${stop} calls the run is ended.`,
  stop: `${tool} was called ${count} times with the same input`,
});

export const errorWords = (tool: string, count: number, { stop }: Limits): Words => ({
  warning: () =>
    `${tool} has failed ${count} times with the same error. Don't try the same again: find out why it fails, or do it ` +
    `another way. At ${stop} failures the run is ended.`,
  stop: `${tool} failed ${count} times with the same error`,
});

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_LISTED ? ` and ${paths.length - MAX_LISTED} more` : '';
  return `${paths.slice(-MAX_LISTED).join(', ')}${more}`;
}
