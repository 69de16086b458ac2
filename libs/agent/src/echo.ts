import type { Executor } from '@hermes-fleet/protocol';
import { readReply, replyContract } from './messages/reply.ts';

/**
 * `response_handler: echo`: ping → pong, else the text back; partial where that is not the reply that was asked for. Costs
 * no tokens. For tests of the wiring.
 */
export function createEchoExecutor(tier: string): Executor {
  return {
    model: { id: 'echo', tier, contextWindow: 0 },
    async run(task, { signal }) {
      signal.throwIfAborted();
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
