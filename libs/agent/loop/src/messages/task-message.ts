/** First words of the result of a call that was running when the gateway went down. */
export const OUTCOME_UNKNOWN = 'outcome unknown';

/** The first user message: the brief between task tags. */
export const taskMessage = (brief: string): string => `<task>\n${brief}\n</task>`;

/** Returns the brief of a first user message. */
export function readTask(message: string): string {
  return /<task>\n([\s\S]*)\n<\/task>/.exec(message)?.[1] ?? '';
}
