import { type ConversationOptions, doneSoFar } from '@hermes-fleet/loop';
import type { SessionCalls } from './session-calls.ts';

export interface SessionPrompt {
  readonly prompt: string;
  /** True when it resumes the session from before a restart. */
  readonly resumed: boolean;
  /** The prompt of a new session, in case the session to resume is lost. */
  readonly ifLost: string;
}

/**
 * The first prompt of a session. A new session gets the task. A resumed one gets the outcome of the interrupted calls,
 * which are repeated where possible, and the last follow-up prompt.
 */
export async function sessionPrompt(
  state: ConversationOptions['state'],
  calls: Pick<SessionCalls, 'repeat'>,
): Promise<SessionPrompt> {
  const [task = '', ...followUps] = state.messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? [content] : [],
  );
  if (state.session === undefined) return { prompt: task, resumed: false, ifLost: task };
  const interrupted: InterruptedCall[] = [];
  for (const call of [...state.session.begun]) {
    interrupted.push({ name: call.name, detail: call.detail, outcome: await calls.repeat(call) });
  }
  state.session.begun = [];
  const isUnanswered = state.messages.at(-1)?.role === 'user';
  const followUp = isUnanswered ? followUps.at(-1) : undefined;
  const restart = { interrupted, done: doneSoFar(state.journal), followUp };
  return {
    prompt: restartPrompt({ ...restart, task: undefined }),
    resumed: true,
    ifLost: restartPrompt({ ...restart, task }),
  };
}

/** The unanswered user message; empty when there is none. */
export function lastFollowUp({ messages }: ConversationOptions['state']): string {
  const last = messages.at(-1);
  return last?.role === 'user' && typeof last.content === 'string' ? last.content : '';
}

interface InterruptedCall {
  readonly name: string;
  readonly detail: string | undefined;
  /** The result of the repeated call; undefined when the outcome is unknown. */
  readonly outcome: string | undefined;
}

interface Restart {
  readonly interrupted: readonly InterruptedCall[];
  /** The work done so far: a crash may have lost the last messages. */
  readonly done: string | undefined;
  readonly followUp: string | undefined;
  /** Set when the session is lost. */
  readonly task: string | undefined;
}

const RESTARTED =
  'The profile was restarted while you worked. Look at what is there, and go on with the task.';
const LOST = 'What was said before is lost.';

function restartPrompt({ interrupted, done, followUp, task }: Restart): string {
  return [
    ...(task === undefined ? [] : [task, LOST]),
    RESTARTED,
    ...(done === undefined ? [] : [`Done so far: ${done}.`]),
    ...interrupted.map(describeInterrupted),
    ...(followUp === undefined ? [] : [followUp]),
  ].join('\n\n');
}

function describeInterrupted({ name, detail, outcome }: InterruptedCall): string {
  const call = `Your call of ${name}${detail === undefined ? '' : ` (${detail})`}`;
  if (outcome === undefined) return `${call}: outcome unknown, check before repeating it.`;
  return `${call} has come to its end since:\n${outcome}`;
}
