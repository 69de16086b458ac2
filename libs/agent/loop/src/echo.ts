import type { Executor } from '@hermes-fleet/protocol/ports';
import { DONE } from './messages/final-message.ts';
import { readReply, replyContract } from './messages/reply.ts';

/** It has no window of its own: any brief that a message can carry fits. */
const CONTEXT_WINDOW = 100_000_000;

/** `response_handler: echo`: `ping` gets `pong`, other briefs themselves; `partial` where the reply schema is not met. */
export function createEchoExecutor(tier: string): Executor {
  return {
    model: { id: 'echo', tier, contextWindow: CONTEXT_WINDOW },
    isFreeOfEffects: true,
    async run(task) {
      const { brief } = task.dispatch;
      const text = brief.trim().toLowerCase() === 'ping' ? 'pong' : brief;
      const artifacts = { pr: null, filesChanged: [] };
      const base = { nextSteps: [], blockedReason: null, artifacts, text };
      const { problems, ...output } = readReply({ text, claim: DONE }, replyContract(task));
      if (problems.length > 0) return { ...base, status: 'partial', remaining: problems };
      return { ...base, ...output, status: 'done' };
    },
  };
}
