import type { Executor } from '@hermes-fleet/protocol/ports';
import { readReply, replyContract } from './messages/reply.ts';

/** It has no window of its own: any brief that a message can carry fits. */
const CONTEXT_WINDOW = 100_000_000;

/**
 * The executor of `response_handler: echo`, for wiring tests. Answers `ping` with `pong` and any other brief with its own
 * text. The result is `partial` if that text does not satisfy the reply schema. Costs no tokens.
 */
export function createEchoExecutor(tier: string): Executor {
  return {
    model: { id: 'echo', tier, contextWindow: CONTEXT_WINDOW },
    isFreeOfEffects: true,
    async run(task) {
      const { brief } = task.dispatch;
      const text = brief.trim().toLowerCase() === 'ping' ? 'pong' : brief;
      const base = {
        nextSteps: [],
        blockedReason: null,
        artifacts: { pr: null, filesChanged: [] },
        text,
      };
      const claim = { status: 'done' as const, remaining: [], nextSteps: [] };
      const { problems, ...output } = readReply({ text, claim }, replyContract(task));
      if (problems.length > 0) return { ...base, status: 'partial', remaining: problems };
      return { ...base, ...output, status: 'done' };
    },
  };
}
