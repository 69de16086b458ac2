import { type ConversationOptions, doneSoFar, type StartedCall } from '@hermes-fleet/loop';
import type { SessionCalls } from './session-calls.ts';

/**
 * The first prompt of a session, and that of a new session in case the one to resume is lost. A new session gets the task. A resumed one gets the outcome of the interrupted calls,
 * which are repeated where possible, and the last follow-up prompt.
 */
export async function sessionPrompt(
  state: ConversationOptions['state'],
  calls: Pick<SessionCalls, 'repeat'>,
) {
  const [task = '', ...followUps] = state.messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? [content] : [],
  );
  if (state.session === undefined) return { prompt: task, resumed: false, ifLost: task };
  const interrupted: string[] = [];
  for (const call of [...state.session.begun]) interrupted.push(describe(call, await calls.repeat(call)));
  state.session.begun = [];
  // A crash may have lost the last messages.
  const done = doneSoFar(state.journal);
  const isUnanswered = state.messages.at(-1)?.role === 'user';
  const restart = [
    RESTARTED,
    ...(done === undefined ? [] : [`Done so far: ${done}.`]),
    ...interrupted,
    ...(isUnanswered ? followUps.slice(-1) : []),
  ];
  return {
    prompt: restart.join('\n\n'),
    /** The session is from before a restart. */
    resumed: true,
    ifLost: [task, LOST, ...restart].join('\n\n'),
  };
}

/** The unanswered user message; empty when there is none. */
export function lastFollowUp({ messages }: ConversationOptions['state']): string {
  const last = messages.at(-1);
  return last?.role === 'user' && typeof last.content === 'string' ? last.content : '';
}

const RESTARTED =
  'The profile was restarted while you worked. Look at what is there, and go on with the task.';
const LOST = 'What was said before is lost.';

/** An interrupted call, and the result of its repetition; undefined when the outcome is unknown. */
function describe({ name, detail }: StartedCall, outcome: string | undefined): string {
  const call = `Your call of ${name}${detail === undefined ? '' : ` (${detail})`}`;
  if (outcome === undefined) return `${call}: outcome unknown, check before repeating it.`;
  return `${call} has come to its end since:\n${outcome}`;
}
