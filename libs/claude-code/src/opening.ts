import type { ConversationOptions } from '@hermes-fleet/agent';
import { doneSoFar } from '@hermes-fleet/agent';
import type { ClaudeCalls } from './claude-calls.ts';
import { type CutOff, restartMessage } from './words.ts';

/** What a session is told first. */
export interface Opening {
  readonly prompt: string;
  /** It goes on with a session of before a restart. */
  readonly resumed: boolean;
  /** What it is told instead where that session is gone. */
  readonly anew: string;
}

/**
 * A new session is told the task; one that goes on after a restart, what came of the calls that it cut off, which are made
 * again where they may be, and what was asked last.
 */
export async function openingOf(
  state: ConversationOptions['state'],
  calls: Pick<ClaudeCalls, 'again'>,
): Promise<Opening> {
  const [task = '', ...asks] = state.messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? [content] : [],
  );
  if (state.claude === undefined) return { prompt: task, resumed: false, anew: task };
  const cutOff: CutOff[] = [];
  for (const call of [...state.claude.begun]) {
    cutOff.push({ name: call.name, detail: call.detail, outcome: await calls.again(call) });
  }
  state.claude.begun = [];
  const isAsked = state.messages.at(-1)?.role === 'user';
  const restart = { calls: cutOff, done: doneSoFar(state.journal), ask: isAsked ? asks.at(-1) : undefined };
  return {
    prompt: restartMessage({ ...restart, task: undefined }),
    resumed: true,
    anew: restartMessage({ ...restart, task }),
  };
}

/** What was asked last. */
export function lastAsk({ messages }: ConversationOptions['state']): string {
  const last = messages.at(-1);
  return last?.role === 'user' && typeof last.content === 'string' ? last.content : '';
}
