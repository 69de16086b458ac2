/** The warnings for the model (docs/agent.md#guards). */

const MAX_LISTED = 5;
const ENDS = 'A run that goes on in circles is ended.';

/** Consecutive edits of one file. */
export const fileWarning = (path: string, count: number, harder: boolean): string =>
  harder
    ? `You've edited ${path} ${count} times, and no check has passed since. Stop editing it: read the task again, find ` +
      `out what is really wrong, and try a fundamentally different solution. ${ENDS}`
    : `You've edited ${path} ${count} times. Consider stepping back: is your approach correct, or should you try a ` +
      'fundamentally different solution?';

export const editsWarning = (paths: readonly string[], count: number): string =>
  `You've edited the same files (${listed(paths)}) ${count} times since a check passed, and the edits restore, repeat or ` +
  `rewrite what earlier ones wrote. Verify what you have before you edit any further, or try a fundamentally different ` +
  `solution. ${ENDS}`;

export const callWarning = (tool: string, count: number): string =>
  `You've called ${tool} ${count} times with the same input. It will come to the same again: do something else, or ` +
  `finish. ${ENDS}`;

export const resultWarning = (count: number): string =>
  `Your calls have shown the same ${count} times. They will come to the same again: do something else, or finish. ${ENDS}`;

export const errorWarning = (tool: string, count: number): string =>
  `${tool} has failed ${count} times with the same error. Don't try the same again: find out why it fails, or do it ` +
  `another way. ${ENDS}`;

/** What a run is ended for, in its result. */
export const editsReason = (paths: readonly string[]): string =>
  `the same files (${listed(paths)}) were edited in circles, and no check passed`;
export const callReason = (tool: string): string =>
  `${tool} was called again and again with the same input and the same result`;
export const resultReason = 'different calls showed the same again and again';
export const errorReason = (tool: string): string => `${tool} failed again and again with the same error`;

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_LISTED ? ` and ${paths.length - MAX_LISTED} more` : '';
  return `${paths.slice(-MAX_LISTED).join(', ')}${more}`;
}
