/** What Claude Code is told when a run goes on after a restart. */
const RESTARTED =
  'The profile was restarted while you worked. Look at what is there, and go on with the task.';

const LOST = 'What was said before is lost.';

/** What is known of a call that the restart cut off. */
export interface CutOff {
  readonly name: string;
  readonly detail: string | undefined;
  /** What it came to since; undefined where nobody knows. */
  readonly outcome: string | undefined;
}

export interface Restart {
  readonly calls: readonly CutOff[];
  /** What was done: what was said last before a crash may be lost. */
  readonly done: string | undefined;
  /** What was asked last, beside the task itself. */
  readonly ask: string | undefined;
  /** The task, where its session is gone. */
  readonly task: string | undefined;
}

/** The message that a session goes on with after a restart. */
export function restartMessage({ calls, done, ask, task }: Restart): string {
  return [
    ...(task === undefined ? [] : [task, LOST]),
    RESTARTED,
    ...(done === undefined ? [] : [`Done so far: ${done}.`]),
    ...calls.map(cutOff),
    ...(ask === undefined ? [] : [ask]),
  ].join('\n\n');
}

function cutOff({ name, detail, outcome }: CutOff): string {
  const call = `Your call of ${name}${detail === undefined ? '' : ` (${detail})`}`;
  if (outcome === undefined) return `${call}: outcome unknown, check before repeating it.`;
  return `${call} has come to its end since:\n${outcome}`;
}

/** Why a call is refused when the profile stops. */
export const NOT_RUN = 'Not run: the profile is stopping.';

/** Why a call is refused while the tools are off. */
export const TOOLS_OFF = 'The tools are off. Answer in words.';
