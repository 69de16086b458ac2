import type { Executor } from '@hermes-fleet/protocol';

/** `response_handler: echo`: ping → pong, else the text back. Costs no tokens. For tests of the wiring. */
export function createEchoExecutor(tier: string): Executor {
  return {
    model: { id: 'echo', tier, contextWindow: 0 },
    async run(task, { signal }) {
      signal.throwIfAborted();
      const { brief } = task.dispatch;
      return {
        status: 'done',
        nextSteps: [],
        blockedReason: null,
        artifacts: { pr: null, filesChanged: [] },
        text: brief.trim().toLowerCase() === 'ping' ? 'pong' : brief,
      };
    },
  };
}
