import { endingPrompt } from '../messages/follow-up-prompts.ts';
import { lastText } from '../messages/history.ts';
import type { ReplyContract } from '../messages/reply.ts';
import { type UnfinishedEnding, unfinishedEnding } from '../messages/unfinished-ending.ts';
import type { Conversation } from '../run/conversation.ts';
import type { RunState } from '../run/run-state.ts';

export interface UnfinishedOptions {
  readonly state: RunState;
  readonly main: Conversation;
  readonly contract: ReplyContract;
  /** The model's names of the tools that were offered. */
  readonly tools: ReadonlySet<string>;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
}

/** Why a last message is no end (docs/agent.md#endings). A JSON reply is judged by its contract alone. */
export const endingOf = (
  message: string,
  contract: ReplyContract,
  tools: ReadonlySet<string>,
): UnfinishedEnding | undefined => (contract.kind === 'json' ? undefined : unfinishedEnding(message, tools));

/** Tells a model once that its last message is no end. False if there is no need or no budget. */
export async function tellUnfinished(options: UnfinishedOptions): Promise<boolean> {
  const { state, main, contract, tools, onGuard } = options;
  const ending = endingOf(lastText(state.messages), contract, tools);
  if (ending === undefined || state.ending_told || state.wrapped_up) return false;
  const prompt = endingPrompt(ending);
  if (!(await main.canAfford(2, prompt))) return false;
  main.followUp(prompt, 'on');
  state.ending_told = true;
  onGuard?.('ending', 'warn');
  return true;
}
