import { toolFailure } from '@hermes-fleet/protocol/ports';
import { NOT_RUN, type PendingCall, pendingCalls } from '../messages/history.ts';
import type { ConversationOptions } from '../run/conversation.ts';
import { MAX_CALLS, surplusReason } from './limited-calls.ts';
import type { ToolCalls } from './tool-calls.ts';

interface PendingCallsOptions extends Pick<ConversationOptions, 'state' | 'save'> {
  readonly calls: ToolCalls;
  /** The tokens that are free in the model's context window. */
  room(): Promise<number>;
  /** Called where nothing is in progress. */
  pauseIfStopping(): Promise<void>;
}

const MAX_AT_ONCE = 8;
/** The longest usual result, a page of a file: calls run at the same time only while the results of all of them fit. */
const RESULT_TOKENS = 12_288;

const STOPPED = 'not run: the conversation was ended, since it repeated itself';

/**
 * Calls that may run at the same time do, at most 8 neighbors; others run alone, in their place (docs/agent.md#the-loop).
 * Results are recorded in the order of the calls. After MAX_CALLS, the rest is not run.
 */
export function createPendingCalls(options: PendingCallsOptions) {
  const { state, calls } = options;

  async function nextOf(pending: readonly PendingCall[]): Promise<readonly PendingCall[]> {
    const alone = pending.findIndex((call) => !calls.isConcurrent(call));
    const together = alone === -1 ? pending.length : alone;
    if (together <= 1) return pending.slice(0, 1);
    const fitting = Math.max(1, Math.floor((await options.room()) / RESULT_TOKENS));
    return pending.slice(0, Math.min(together, MAX_AT_ONCE, fitting));
  }

  /** Carries out the first calls of the model's last answer, and answers all. */
  async function run(): Promise<void> {
    const all = pendingCalls(state.messages);
    let pending: readonly PendingCall[] = all.filter(({ place }) => place < MAX_CALLS);
    for (let [first] = pending; first !== undefined; [first] = pending) {
      await options.pauseIfStopping();
      if (calls.guardStop() !== undefined) {
        calls.answerUnsaved(first, toolFailure(STOPPED));
        pending = pending.slice(1);
      } else {
        const next = await nextOf(pending);
        await calls.run(next);
        pending = pending.slice(next.length);
      }
    }
    for (const call of all.filter(({ place }) => place >= MAX_CALLS))
      calls.answerUnsaved(call, toolFailure(surplusReason(call.place)));
  }

  return {
    run,
    /** After a crash: a call that may have run is not repeated unless it may be. After a pause no call has run. */
    async resume(): Promise<void> {
      if (calls.guardStop() !== undefined) return run();
      if (state.paused) {
        state.paused = undefined;
        await options.save();
        return run();
      }
      const [first, ...rest] = pendingCalls(state.messages);
      // Calls that run at the same time are all repeatable, so only the first can be one that is not.
      if (first === undefined || first.place >= MAX_CALLS || calls.isRepeatable(first)) return run();
      calls.answerUnknown(first);
      for (const call of rest) calls.answer(call, toolFailure(NOT_RUN));
    },
  };
}
